import FoundationEssentials
import Glibc

/// Everything that flags, environment and configuration file can set: `settings.jobs` is the value of that row of
/// ``SettingTable``; nil where it is set nowhere, so that Reel's own default applies.
@dynamicMemberLookup
struct Settings: Sendable {
  private var values: [String: any Sendable] = [:]
  /// Where the values come from that are not on the command line: `REEL_JOBS`, `config.yaml:7: jobs`.
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

  /// Sets a value that comes from `source`.
  mutating func set(_ row: any SettingRow, to value: any Sendable, from source: String) {
    (values[row.key], sources[row.key]) = (value, source)
  }

  /// The beginning of an error about a value that is checked only later than others: `REEL_POLICY is "x"; `. Empty for
  /// a flag.
  func place(of row: KeyPath<SettingTable, Setting<String>>) -> String {
    let key = SettingTable.table[keyPath: row].key
    guard let source = sources[key], let value = self[dynamicMember: row] else { return "" }
    return "\(source) is \"\(value)\"; "
  }

  /// Whether nothing is set.
  var isEmpty: Bool { values.isEmpty }

  /// These settings, with the values of `other` where these have none.
  func completed(by other: Settings) -> Settings {
    var all = self
    all.values.merge(other.values) { own, _ in own }
    all.sources.merge(other.sources.filter { values[$0.key] == nil }) { own, _ in own }
    return all
  }
}

/// The place of a catalog that several machines share.
struct CatalogSetting: Sendable {
  /// Such as `postgres://reel@db.example/reel`. It may hold a password.
  let address: String
  /// Whether it is on the command line, which everybody on the machine can read.
  let isArgument: Bool
}

/// The environment variables of this process. Foundation would repair a value that is not UTF-8, which would then name
/// another place; such a value is refused when it is asked for.
struct ProcessEnvironment: Sendable {
  private let variables: [String: String]
  /// The names of variables whose values are not UTF-8.
  private let repaired: Set<String>

  /// The environment as it is now.
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

  /// The variables whose names `isMeant` accepts.
  /// - Throws: ``CommandFailure`` when one of them is not UTF-8.
  func texts(where isMeant: (String) -> Bool) throws -> [String: String] {
    if let name = repaired.filter(isMeant).min() {
      throw CommandFailure(
        .couldNotRun, "the environment variable \(name) is not UTF-8: set it to a text in UTF-8, or unset it")
    }
    return variables.filter { isMeant($0.key) }
  }
}
