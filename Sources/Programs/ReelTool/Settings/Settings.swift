import FoundationEssentials
import Glibc

/// Everything that flags, environment and configuration file can set: `settings.jobs` is the value of that row of
/// ``SettingTable``; nil where nobody said anything, and Reel's own default counts.
@dynamicMemberLookup
struct Settings: Sendable {
  private var values: [String: any Sendable] = [:]
  /// Where those stand that are on no command line: `REEL_JOBS`, `config.yaml:7: jobs`.
  private var sources: [String: String] = [:]

  init() {}

  subscript<Value>(dynamicMember row: KeyPath<SettingTable, Setting<Value>>) -> Value? {
    get { values[SettingTable.table[keyPath: row].key] as? Value }
    set { values[SettingTable.table[keyPath: row].key] = newValue }
  }

  subscript(key: String) -> (any Sendable)? {
    get { values[key] }
    set { values[key] = newValue }
  }

  /// Sets what stands in `source`.
  mutating func set(_ row: any SettingRow, to value: any Sendable, from source: String) {
    (values[row.key], sources[row.key]) = (value, source)
  }

  /// What an error of a value begins with that is looked at later than others: `REEL_POLICY is "x"; `. Empty for a flag.
  func place(of row: KeyPath<SettingTable, Setting<String>>) -> String {
    let key = SettingTable.table[keyPath: row].key
    guard let source = sources[key], let value = self[dynamicMember: row] else { return "" }
    return "\(source) is \"\(value)\"; "
  }

  /// Whether nobody said anything.
  var isEmpty: Bool { values.isEmpty }

  /// These settings, and `other`'s where these say nothing.
  func completed(by other: Settings) -> Settings {
    var all = self
    all.values.merge(other.values) { own, _ in own }
    all.sources.merge(other.sources.filter { values[$0.key] == nil }) { own, _ in own }
    return all
  }
}

/// Where a catalog is that several machines share.
struct CatalogSetting: Sendable {
  /// Such as `postgres://reel@db.example/reel`. It may hold a password.
  let address: String
  /// Whether it stands on the command line, which everybody on the machine can read.
  let isArgument: Bool
}

/// The variables of this process. A value that is not UTF-8 would come out of Foundation repaired, and name another
/// place: it is refused where it is asked for.
struct ProcessEnvironment: Sendable {
  private let variables: [String: String]
  /// Names of those that are not UTF-8.
  private let repaired: Set<String>

  /// As they are now.
  static func current() -> ProcessEnvironment {
    let variables = ProcessInfo.processInfo.environment
    let repaired = variables.filter { name, value in
      value.unicodeScalars.contains("\u{FFFD}")
        && getenv(name).flatMap { String(validatingCString: $0) } == nil
    }
    return ProcessEnvironment(variables: variables, repaired: Set(repaired.keys))
  }

  /// The value of `name`; nil when it is not set, or empty.
  /// - Throws: ``CommandFailure`` when it is not UTF-8.
  func text(_ name: String) throws -> String? {
    try texts { $0 == name }[name].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Those whose names are meant.
  /// - Throws: ``CommandFailure`` when one of them is not UTF-8.
  func texts(where isMeant: (String) -> Bool) throws -> [String: String] {
    if let name = repaired.filter(isMeant).min() {
      throw CommandFailure(
        .couldNotRun, "the environment variable \(name) is not UTF-8: set it to a text in UTF-8, or unset it")
    }
    return variables.filter { isMeant($0.key) }
  }
}
