import Glibc
import ReelCore
import ReelPostgres
import ReelTerminal
import ReelValidation
import Synchronization

/// A file of the user's own that a command reads or writes as a whole: a policy, a lock, a report.
struct UserFile {
  /// All of its bytes.
  /// - Parameter limit: in bytes; of more only so many are read, and one.
  static func read(_ path: String, upTo limit: Int) throws(SystemError) -> [UInt8] {
    let file = Descriptor(
      adopting: try retryingInterrupts("open") { open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) })
    return try file.readToEnd(limit: limit + 1)
  }

  let path: String
  private let stream: OutputStream
  private let appends: Bool
  private let isNew: Bool

  /// Opens it for writing before the work is done, so that a wrong name costs nothing; it keeps its old content until
  /// ``write(_:)``.
  /// - Parameter form: what it is to be; nil for one that is added to.
  /// - Throws: ``CommandFailure``, also where it holds something else.
  init(writing path: String, as form: OutputForm?) throws {
    try form?.check(path)
    self.path = path
    appends = form == nil
    var facts = stat()
    isNew = stat(path, &facts) != 0
    let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | (appends ? O_APPEND : 0), 0o666)
    guard descriptor >= 0 else {
      throw CommandFailure(.couldNotRun, "\(path) can't be written: \(String(cString: strerror(errno)))")
    }
    stream = OutputStream(descriptor: descriptor, name: path)
  }

  /// Whether both are one file, which only one of them can be written to.
  func isSameFile(as other: UserFile) -> Bool { size != nil && stream.isSamePlace(as: other.stream) }

  /// Bytes; nil for a pipe or a device.
  var size: Int? {
    var status = stat()
    guard fstat(stream.descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return Int(clamping: status.st_size)
  }

  /// Puts `text` in place of what was there, as a whole or not at all, where its folder allows that; or after it.
  func write(_ text: String) throws {
    guard !appends, size != nil else { return try stream.write(text) }
    do {
      if let file = try? WholeFile(at: path) {
        try file.write(text)
        if (try? file.finish(durably: false)) != nil { return }
      }
      // Nobody may put another file into its place: its folder is somebody else's, or it is mounted alone.
      _ = ftruncate(stream.descriptor, 0)
      try stream.write(text)
    } catch {
      if isNew { unlink(path) }
      throw error
    }
  }
}

/// Reads policies for the command line.
enum PolicyFiles {
  /// - Parameter name: a preset, or a file.
  /// - Throws: ``CommandFailure`` that says everything that is wrong with it.
  static func policy(_ name: String) throws -> Policy {
    try orCommandFailure(
      .couldNotRun, { () throws(PolicyError) in try PolicyLibrary.local.policy(name) }, told: unusable)
  }

  /// A policy as workers on other machines can have it, too: with all that it extends.
  /// - Throws: ``CommandFailure``.
  static func shared(_ name: String) throws -> QueuePolicy {
    let files = Mutex<[PolicyBundle.File]>([])
    let sources = Mutex<[String]>([])
    _ = try orCommandFailure(
      .couldNotRun,
      { () throws(PolicyError) in
        try PolicyLibrary { name, from throws(PolicyError) in
          let (bytes, source) = try PolicyLibrary.file(name, from: from)
          let parent = sources.withLock { sources in from.flatMap { sources.firstIndex(of: $0) } }
          sources.withLock { $0.append(source) }
          files.withLock {
            $0.append(
              PolicyBundle.File(
                from: parent, name: parent == nil ? PolicyBundle.root : name,
                text: String(decoding: bytes, as: UTF8.self)))
          }
          return (bytes, source)
        }.policy(name)
      }, told: unusable)
    let found = files.withLock { $0 }
    if found.isEmpty { return QueuePolicy(name: name, document: nil) }
    return PolicyBundle(files: found).policy(named: name)
  }

  /// What ``shared(_:)`` made.
  /// - Throws: ``CommandFailure``.
  static func policy(_ shared: QueuePolicy) throws -> Policy {
    guard let document = shared.document else { return try policy(shared.name) }
    return try orCommandFailure(
      .couldNotRun, { () throws(PolicyError) in try PolicyBundle.read(document, as: shared.name) },
      told: unusable)
  }

  private static func unusable(_ error: PolicyError) -> String {
    "the policy can't be used: \(error.problems.map(\.description).joined(separator: " · "))"
  }

  /// Everything that is wrong with the policy `name`; nothing when it can be used.
  static func problems(of name: String) -> [PolicyProblem] {
    do throws(PolicyError) {
      _ = try PolicyLibrary.local.policy(name)
      return []
    } catch {
      return error.problems
    }
  }
}
