import Glibc
import ReelCore
import ReelIngest
import ReelTerminal
import Synchronization

/// Where `--events` goes.
struct EventTarget: Sendable {
  let stream: OutputStream
  /// Closes it with the last who holds this; nil for what somebody else has opened.
  let owner: Descriptor?
  /// The report moves to stderr then.
  let isStandardOutput: Bool
  /// Whether what an earlier run wrote goes before the first event.
  var isBegunAnew = false

  /// Opens `FILE`, `-` or `fd:N`; nil when nothing was asked for.
  /// A file keeps its content until there are events.
  /// - Parameter appends: whether a file is added to, not begun anew.
  /// - Throws: ``CommandFailure`` when it can't be opened, before anything else is done.
  static func open(_ name: String?, appends: Bool = false) throws -> EventTarget? {
    guard let name else { return nil }
    if OutputStream.isStandardOutput(SourcePath(name)) {
      return EventTarget(stream: .standardOutput, owner: nil, isStandardOutput: true)
    }
    if name.hasPrefix("fd:") { return try inherited(name) }
    try OutputForm.events.check(name)
    let descriptor = Glibc.open(
      name, O_WRONLY | O_CREAT | (appends ? O_APPEND : 0) | O_CLOEXEC | O_NOCTTY, 0o600)
    guard descriptor >= 0 else {
      throw CommandFailure(
        .couldNotRun, "the events can't be written to \(name): \(String(cString: strerror(errno)))")
    }
    return EventTarget(
      stream: OutputStream(descriptor: descriptor, name: name), owner: Descriptor(adopting: descriptor),
      isStandardOutput: false, isBegunAnew: !appends)
  }

  private static func inherited(_ name: String) throws -> EventTarget {
    guard let number = Int32(name.dropFirst(3)), number >= 0, fcntl(number, F_GETFD) != -1 else {
      throw CommandFailure(.usage, "--events \(name): there is no such open descriptor; fd:3 wants 3>FILE")
    }
    return EventTarget(
      stream: OutputStream(descriptor: number), owner: nil, isStandardOutput: number == STDOUT_FILENO)
  }
}

/// Writes a run's events as JSON lines. Its reader may be slow: only this writer waits for it.
struct EventWriter: Sendable {
  let target: EventTarget
  /// Told what has been written, batch by batch.
  let passedOn: @Sendable ([IngestEvent]) async throws -> Void

  /// Writes until the run's end.
  /// - Throws: ``OutputClosed`` when the reader went away, ``CommandFailure`` when it can't be written, and what ``passedOn``
  ///   throws.
  func write(_ events: IngestEvents) async throws {
    let queue = BlockingQueue(label: "reel.events", width: 1)
    let lines = EventLines()
    if target.isBegunAnew {
      // A pipe or a device has no length.
      await queue.run { [target] in _ = ftruncate(target.stream.descriptor, 0) }
    }
    for await batch in events.batches() {
      let bytes = try lines.lines(batch)
      try await queue.run { [target] in try target.stream.write(bytes) }
      try await passedOn(batch)
    }
  }
}

/// The reader of what we print went away.
struct OutputClosed: Error {}

/// A descriptor that text goes to.
struct OutputStream: Sendable {
  let descriptor: Int32
  /// Of the file, as the user gave it.
  var name: String?

  static let standardOutput = OutputStream(descriptor: STDOUT_FILENO)
  static let standardError = OutputStream(descriptor: STDERR_FILENO)

  private static let begun = Atomic(false)
  /// Whether something went to standard output.
  static var hasOutput: Bool { begun.load(ordering: .relaxed) }

  /// Whether `path` is `-`, or another name for standard output, such as `/dev/stdout`: that would be opened once more,
  /// and what is written to both would lie over each other in a file.
  static func isStandardOutput(_ path: SourcePath) -> Bool {
    if path.bytes == [UInt8(ascii: "-")] { return true }
    var output = stat()
    // What goes nowhere is under nobody's feet.
    guard path.mayBeDescriptor, path.text != "/dev/null", let there = path.fileStatus,
      fstat(STDOUT_FILENO, &output) == 0
    else { return false }
    return there.st_dev == output.st_dev && there.st_ino == output.st_ino
  }

  /// Whether what is written to one shows up in the other: they are one terminal, file or pipe.
  func isSamePlace(as other: OutputStream) -> Bool {
    var (own, others) = (stat(), stat())
    guard fstat(descriptor, &own) == 0, fstat(other.descriptor, &others) == 0 else { return false }
    return own.st_dev == others.st_dev && own.st_ino == others.st_ino
  }

  /// Writes all of `text`. Blocks as long as the reader does.
  /// - Throws: ``OutputClosed`` when nobody reads any more; ``CommandFailure`` when it can't be written.
  func write(_ text: String) throws {
    var text = text
    try text.withUTF8 { try write(UnsafeRawBufferPointer($0)) }
  }

  /// Writes all of `bytes`.
  func write(_ bytes: [UInt8]) throws {
    try bytes.withUnsafeBytes { try write($0) }
  }

  private func write(_ bytes: UnsafeRawBufferPointer) throws {
    if descriptor == STDOUT_FILENO, !bytes.isEmpty { Self.begun.store(true, ordering: .relaxed) }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        waitUntilWritable()
      } else if errno != EINTR {
        throw failure(errno)
      }
    }
  }

  /// Somebody else may have made the descriptor they share with us non-blocking.
  private func waitUntilWritable() {
    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    poll(&request, 1, -1)
  }

  private func failure(_ code: Int32) -> any Error {
    if code == EPIPE { return OutputClosed() }
    return CommandFailure(
      .couldNotRun, "\(name ?? "the output") can't be written: \(String(cString: strerror(code)))")
  }
}
