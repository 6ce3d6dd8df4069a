import Glibc
import ReelCore
import ReelValidation

/// The configuration file: keys and values, like `library: /srv/reel`.
struct ConfigurationFile {
  /// Bytes; all settings together take less than one thousand.
  private static let largest = 1 << 20

  private let values: [String: YAMLNode]

  /// The value of a key that holds one; a list or more keys say nothing. (`author: 12` is a text as well.)
  subscript(key: String) -> YAMLNode? {
    values[key].flatMap { $0.scalar == nil ? nil : $0 }
  }

  /// `$XDG_CONFIG_HOME/reel/config.yaml`; never a file of the working folder or of one that is taken in.
  static func usersOwn(_ environment: ProcessEnvironment) throws -> String? {
    if let folder = try environment.text("XDG_CONFIG_HOME"), folder.hasPrefix("/") {
      return folder + "/reel/config.yaml"
    }
    guard let home = try environment.text("HOME"), home.hasPrefix("/") else { return nil }
    return home + "/.config/reel/config.yaml"
  }

  /// Nil when there is none, and there need not be.
  /// - Throws: ``CommandFailure`` when it can't be read, or says what can't be.
  init?(_ path: String, mayBeMissing: Bool) throws {
    func refuse(_ reason: String) -> CommandFailure {
      CommandFailure(
        .couldNotRun, "the configuration file \(path) \(reason); it is YAML like `library: /srv/reel`")
    }
    var facts = stat()
    guard stat(path, &facts) == 0 else {
      let error = SystemError.last("stat")
      if mayBeMissing, [ENOENT, ENOTDIR].contains(error.code) { return nil }
      throw refuse("can't be read: \(error.reason)")
    }
    guard facts.st_mode & S_IFMT == S_IFREG else { throw refuse("is not a regular file") }
    guard facts.st_size <= Self.largest else { throw refuse("is larger than \(Self.largest >> 20) MB") }
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try UserFile.read(path, upTo: Self.largest)
    } catch {
      throw refuse("can't be read: \(error.reason)")
    }
    do throws(Unusable) {
      values = try Self.values(bytes)
    } catch {
      throw refuse("can't be used: \(error.reason)")
    }
  }

  private struct Unusable: Error {
    let reason: String
  }

  private static func values(_ bytes: [UInt8]) throws(Unusable) -> [String: YAMLNode] {
    let mark = Array("\u{FEFF}".utf8)
    guard
      let text = String(validating: bytes.dropFirst(bytes.starts(with: mark) ? mark.count : 0), as: UTF8.self)
    else { throw Unusable(reason: "String could not be decoded from data using 'Unicode (UTF-8)' encoding") }
    let root: YAMLNode?
    do throws(YAMLError) {
      root = try YAMLReader.document(in: text)
    } catch {
      throw Unusable(reason: error.description)
    }
    guard let pairs = root?.mapping else { throw Unusable(reason: "Top level YAML value is not a mapping.") }
    try check(pairs, in: [])
    return Dictionary(pairs.map { ($0.key.scalar ?? "", $0.value) }) { $1 }
  }

  /// Keys are words, and lists are of single values, also where nobody asks for them.
  private static func check(_ pairs: [YAMLNode.Pair], in path: [String]) throws(Unusable) {
    for pair in pairs {
      guard let key = pair.key.scalar else {
        throw Unusable(reason: "YAML key is not convertible to string: \(path.joined(separator: "."))")
      }
      let path = path + [key]
      if let pairs = pair.value.mapping { try check(pairs, in: path) }
      if let odd = pair.value.sequence?.firstIndex(where: { $0.scalar == nil }) {
        throw Unusable(
          reason: "Unexpected non-scalar value in array at \(path.joined(separator: ".")) at index: \(odd).")
      }
    }
  }
}
