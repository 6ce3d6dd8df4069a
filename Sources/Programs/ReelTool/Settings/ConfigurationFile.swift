import Glibc
import ReelCore
import ReelTerminal
import ReelValidation

/// The configuration file: keys and values, like `library: /srv/reel`.
struct ConfigurationFile {
  /// In bytes; all settings together take less than one thousand.
  private static let largest = 1 << 20

  let path: String
  private let values: [String: YAMLNode]

  /// The value of a setting, always a scalar: `author: 12` is text as well.
  subscript(key: String) -> YAMLNode? { values[key] }

  /// The user's own file, `$XDG_CONFIG_HOME/reel/config.yaml`. A file in the working folder, or in a folder that is
  /// ingested, is never read.
  static func usersOwn(_ environment: ProcessEnvironment) throws -> String? {
    if let folder = try environment.text("XDG_CONFIG_HOME"), folder.hasPrefix("/") {
      return folder + "/reel/config.yaml"
    }
    guard let home = try environment.text("HOME"), home.hasPrefix("/") else { return nil }
    return home + "/.config/reel/config.yaml"
  }

  /// Reads the file; nil when there is none and there need not be.
  /// - Throws: ``CommandFailure`` when it can't be read, or contains something invalid.
  init?(_ path: String, mayBeMissing: Bool) throws {
    func told(_ reason: String) -> String { "the configuration file \(path) \(reason)" }
    func refuse(_ reason: String) -> CommandFailure { CommandFailure(.couldNotRun, told(reason)) }
    self.path = path
    var facts = stat()
    guard stat(path, &facts) == 0 else {
      let error = SystemError.last("stat")
      if mayBeMissing, [ENOENT, ENOTDIR].contains(error.code) { return nil }
      throw refuse("can't be read: \(error.reason)")
    }
    guard facts.st_mode & S_IFMT == S_IFREG else { throw refuse("is not a regular file") }
    guard facts.st_size <= Self.largest else { throw refuse("is larger than \(Self.largest >> 20) MB") }
    let bytes = try orCommandFailure { () throws(SystemError) in
      try UserFile.read(path, upTo: Self.largest)
    } told: {
      told("can't be read: \($0.reason)")
    }
    values = try orCommandFailure { () throws(Unusable) in
      try Self.values(bytes)
    } told: {
      told("can't be used: \($0.reason)")
    }
  }

  private struct Unusable: Error {
    let reason: String
  }

  private static func values(_ bytes: [UInt8]) throws(Unusable) -> [String: YAMLNode] {
    let mark = Array("\u{FEFF}".utf8)
    guard
      let text = String(validating: bytes.dropFirst(bytes.starts(with: mark) ? mark.count : 0), as: UTF8.self)
    else { throw Unusable(reason: "it is not UTF-8; save it as UTF-8") }
    let root: YAMLNode?
    do throws(YAMLError) {
      root = try YAMLReader.document(in: text)
    } catch {
      throw Unusable(reason: error.description)
    }
    // For example, a sample file in which every line is a comment.
    guard let root else { return [:] }
    guard let pairs = root.mapping else {
      throw Unusable(reason: "it must be keys and values, like `library: /srv/reel`")
    }
    var values: [String: YAMLNode] = [:]
    var problems: [String] = []
    for pair in pairs {
      switch setting(pair) {
      case .success(let key): values[key] = pair.value
      case .failure(let problem):
        problems.append("\(pair.key.mark.line):\(pair.key.mark.column): \(problem.reason)")
      }
    }
    guard problems.isEmpty else { throw Unusable(reason: problems.joined(separator: " · ")) }
    return values
  }

  /// The setting that a pair is for.
  private static func setting(_ pair: YAMLNode.Pair) -> Result<String, Unusable> {
    guard let name = pair.key.scalar else {
      return .failure(Unusable(reason: "a key is a word, such as library"))
    }
    guard SettingTable.rows[name] != nil else {
      let hint = NearestWord.nearest(to: name, among: SettingTable.all.map(\.key))
      return .failure(
        Unusable(
          reason: "there is no setting \"\(name.prefix(60))\"; "
            + (hint.map { "did you mean \($0)?" } ?? "docs/settings.md lists them")))
    }
    guard pair.value.scalar != nil else {
      let found = pair.value.mapping == nil ? "a list" : "keys and values"
      return .failure(Unusable(reason: "the setting \(name) is one value, and this is \(found)"))
    }
    return .success(name)
  }
}
