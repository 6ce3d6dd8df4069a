import CReel
import Glibc
import ReelCore

/// The program that a `command:` destination names, and which of its stores is meant.
public struct AdapterProgram: Hashable, Sendable {
  /// The program's absolute path; symbolic links are resolved if the file exists.
  public let path: String
  /// What follows `#` in the address: the program's store that is meant; nil if nothing follows.
  public let store: String?

  /// Returns nil if an argument breaks its rule, or if the absolute path is not UTF-8: a repaired path would be that of
  /// another program.
  /// - Parameters:
  ///   - path: absolute, or relative to the current working folder. It is never looked up in `PATH`.
  ///   - store: letters, digits and `-_./`, at most 200 of them.
  public init?(path: String, store: String? = nil) {
    guard !path.isEmpty, !path.utf8.contains(0), store.map(Self.isStoreName) ?? true,
      let path = Self.settled(path)
    else { return nil }
    self.path = path
    self.store = store
  }

  /// `command:` and the percent-encoded path, followed by `#` and the store if there is one.
  public var destination: Destination {
    Destination(
      "command:" + PercentEncoding.encode(path.utf8, sparing: "-_./") + (store.map { "#" + $0 } ?? ""))
  }

  /// The program's name in messages.
  var name: String { path + (store.map { "#" + $0 } ?? "") }

  /// Whether `text` may be a store's name. Such a name needs no quoting in any language.
  public static func isStoreName(_ text: String) -> Bool {
    (1...200).contains(text.utf8.count)
      && text.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-_./".utf8.contains($0) }
  }

  private static func settled(_ path: String) -> String? {
    if let resolved = realpath(path, nil) {
      defer { free(resolved) }
      return String(validatingCString: resolved)
    }
    guard !path.hasPrefix("/"), let folder = getcwd(nil, 0) else { return path }
    defer { free(folder) }
    return String(validatingCString: folder).map { $0 + "/" + path }
  }
}

/// The environment that an adapter gets: the variables that every program needs, and those that the user lets through.
///
/// Credentials of other tools that happen to be in Reel's own environment are withheld.
public struct AdapterEnvironment: Sendable {
  /// Variables that are passed on if set, as are all `LC_*`.
  public static let always: Set<String> = [
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR",
  ]
  /// Variables whose names begin with this are meant for an adapter, and passed on.
  public static let prefix = "REEL_ADAPTER_"

  /// Whether any variable was let through by name or prefix; its value may be a secret.
  public let letsThrough: Bool

  let variables: [String: String]
  /// The values that must not appear in messages: those let through by name or prefix, longest first.
  private let secrets: [(name: String, value: String)]

  /// - Parameters:
  ///   - environment: Reel's own environment.
  ///   - names: more variables to pass on; one that is not set is left out.
  public init(of environment: [String: String], allowing names: some Sequence<String> = []) {
    let names = Set(names)
    var variables: [String: String] = [:]
    var secrets: [(name: String, value: String)] = []
    var letsThrough = false
    for (name, value) in environment where Self.passes(name, allowing: names) {
      variables[name] = value
      guard Self.isMeant(name, names) else { continue }
      letsThrough = true
      secrets += Self.forms(of: value).map { (name, $0) }
    }
    if variables["PATH"] == nil { variables["PATH"] = "/usr/local/bin:/usr/bin:/bin" }
    self.letsThrough = letsThrough
    self.variables = variables
    self.secrets = secrets.sorted {
      ($0.value.utf8.count, $0.name, $0.value) > ($1.value.utf8.count, $1.name, $1.value)
    }
  }

  /// Whether an adapter gets the variable `name` if `names` are let through.
  package static func passes(_ name: String, allowing names: some Collection<String>) -> Bool {
    isMeant(name, names) || always.contains(name) || name.hasPrefix("LC_")
  }

  private static func isMeant(_ name: String, _ names: some Collection<String>) -> Bool {
    names.contains(name) || name.hasPrefix(prefix)
  }

  /// The forms in which `value` may appear: as it is; line by line, as programs that quote a multi-line key often print
  /// only one line of it; and each of these as JSON escapes it.
  private static func forms(of value: String) -> Set<String> {
    let lines = value.split(whereSeparator: \.isNewline).map { line in
      let begun = line.drop(while: \.isWhitespace)
      return String(begun.prefix(begun.count - begun.reversed().prefix(while: \.isWhitespace).count))
    }
    let plain = [value] + lines
    let json = plain.map { text in
      [("\\", "\\\\"), ("\"", "\\\""), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")]
        .reduce(text) { $0.replacing($1.0, with: $1.1) }
    }
    let slashed = json.map { $0.replacing("/", with: "\\/") }
    return Set((plain + json + slashed).filter { $0.utf8.count >= shortestSecret })
  }

  /// Replacing shorter values would riddle every message with placeholders.
  private static let shortestSecret = 6

  /// Returns `text` with each value that was let through replaced by its variable's name, so that a token that an
  /// adapter prints when it fails does not end up in Reel's events.
  func withoutSecrets(_ text: String) -> String {
    var text = text
    for (name, value) in secrets where text.contains(value) {
      text = text.replacing(value, with: "‹\(name)›")
    }
    return text
  }
}

/// Turns a source into a file that an adapter can read but not change.
struct AdapterFiles: Sendable {
  /// The folder for unnamed copies of sources that are not files, or that others may write to.
  let folder: String
  let queue: BlockingQueue

  /// Returns a file that is open for reading only, at its beginning. It shares its file offset with nobody, so one
  /// adapter's reading does not move another's.
  ///
  /// It is the source's own file if that is a private copy, otherwise a copy that has been proved.
  /// - Throws: `sourceChanged`, `sourceUnreadable`, `unavailable`, `storeFull` (the folder's), `cancelled`.
  func file(of source: UploadSource) async throws(UploadError) -> Descriptor {
    if let descriptor = source.bytes.descriptor, source.bytes.isPrivate {
      let file = try await doing { () throws(SystemError) in try Self.reopened(descriptor) }
      let size = try await doing { () throws(SystemError) in try Self.size(of: file) }
      guard size == source.size else { throw UploadError.changed(source, "\(size) bytes now") }
      return file
    }
    let copy = try await doing { () throws(SystemError) in try makeFile() }
    for try await chunk in SourceChunks(of: source) {
      try await doing { () throws(SystemError) in try copy.write(all: chunk) }
    }
    return try await doing { () throws(SystemError) in try Self.reopened(copy.rawValue) }
  }

  private func makeFile() throws(SystemError) -> Descriptor {
    let number = reel_command_nameless_file(folder)
    guard number >= 0 else { throw SystemError(code: -number, call: "open") }
    return Descriptor(adopting: number)
  }

  /// Opens the same file again, with a file offset of its own.
  private static func reopened(_ descriptor: Int32) throws(SystemError) -> Descriptor {
    try Descriptor(opening: "/proc/self/fd/\(descriptor)", O_RDONLY | O_NOCTTY)
  }

  private static func size(of file: Descriptor) throws(SystemError) -> Int64 {
    var facts = stat()
    guard fstat(file.rawValue, &facts) == 0 else { throw SystemError.last("fstat") }
    return Int64(facts.st_size)
  }

  private func doing<Value: Sendable>(
    _ body: @escaping @Sendable () throws(SystemError) -> Value
  ) async throws(UploadError) -> Value {
    do throws(SystemError) {
      return try await queue.run(body)
    } catch {
      if error.code == ENOENT, access("/proc/self/fd", F_OK) != 0 {
        throw UploadError(
          .storeUnusable, "files are handed to an adapter through /proc, and /proc is not there; mount it")
      }
      let isFull = error.code == ENOSPC || error.code == EDQUOT
      throw UploadError(
        isFull ? .storeFull : .unavailable,
        "the file can't be handed to an adapter through \(folder) (\(error)): see that there is room"
      )
    }
  }
}
