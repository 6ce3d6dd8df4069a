import Glibc

/// Where `--events` goes.
struct EventTarget: Sendable {
  let stream: OutputStream
  /// The report moves to stderr then.
  let isStandardOutput: Bool

  /// Opens `FILE`, `-` or `fd:N`; nil when nothing was asked for.
  /// - Throws: ``CommandFailure`` when it can't be opened, before anything else is done.
  static func open(_ name: String?) throws -> EventTarget? {
    guard let name else { return nil }
    if name == "-" { return EventTarget(stream: .standardOutput, isStandardOutput: true) }
    if name.hasPrefix("fd:") { return try inherited(name) }
    guard mayBeReplaced(name) else {
      throw CommandFailure(
        .usage, "--events \(name): that file holds something else than events; name another, or remove it")
    }
    let descriptor = Glibc.open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0o600)
    guard descriptor >= 0 else {
      throw CommandFailure(
        .couldNotRun, "the events can't be written to \(name): \(String(cString: strerror(errno)))")
    }
    return EventTarget(stream: OutputStream(descriptor: descriptor), isStandardOutput: false)
  }

  /// A file with content is the log of an earlier run, or none of ours: `--events clips/*` would end a video.
  private static func mayBeReplaced(_ name: String) -> Bool {
    var facts = stat()
    guard stat(name, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, facts.st_size > 0 else { return true }
    guard let begun = try? UserFile.read(name, upTo: 0) else { return true }
    return begun.starts(with: #"{"at":""#.utf8)
  }

  private static func inherited(_ name: String) throws -> EventTarget {
    guard let number = Int32(name.dropFirst(3)), number >= 0, fcntl(number, F_GETFD) != -1 else {
      throw CommandFailure(.usage, "--events \(name): there is no such open descriptor; fd:3 wants 3>FILE")
    }
    return EventTarget(stream: OutputStream(descriptor: number), isStandardOutput: number == STDOUT_FILENO)
  }
}
