import FoundationEssentials
import Glibc
import ReelCore
import ReelIngest

/// Where `--events` goes.
package struct EventTarget: Sendable {
  package let stream: OutputStream
  /// Closes it with the last who holds this; nil for what somebody else has opened.
  package let owner: Descriptor?
  /// The report moves to stderr then.
  package let isStandardOutput: Bool
  /// Whether what an earlier run wrote goes before the first event.
  package var isBegunAnew = false

  /// Opens `FILE`, `-` or `fd:N`; nil when nothing was asked for.
  /// A file keeps its content until there are events.
  /// - Parameter appends: whether a file is added to, not begun anew.
  /// - Throws: ``OutputFailure`` when it can't be opened, before anything else is done.
  package static func open(_ name: String?, appends: Bool = false) throws -> EventTarget? {
    guard let name else { return nil }
    if OutputStream.isStandardOutput(SourcePath(name)) {
      return EventTarget(stream: .standardOutput, owner: nil, isStandardOutput: true)
    }
    if name.hasPrefix("fd:") { return try inherited(name) }
    try OutputForm.events.check(name)
    let file = try rethrowing(
      as: { OutputFailure("the events can't be written to \(name): \($0.reason)") }
    ) { () throws(SystemError) in
      try Descriptor(
        opening: name, O_WRONLY | O_CREAT | (appends ? O_APPEND : 0) | O_NOCTTY, mode: 0o600)
    }
    return EventTarget(
      stream: OutputStream(descriptor: file.rawValue, name: name), owner: file, isStandardOutput: false,
      isBegunAnew: !appends)
  }

  private static func inherited(_ name: String) throws -> EventTarget {
    guard let number = Int32(name.dropFirst(3)), number >= 0, fcntl(number, F_GETFD) != -1 else {
      throw OutputRefusal("--events \(name): there is no such open descriptor; fd:3 wants 3>FILE")
    }
    return EventTarget(
      stream: OutputStream(descriptor: number), owner: nil, isStandardOutput: number == STDOUT_FILENO)
  }
}

/// Writes a run's events as JSON lines. Its reader may be slow: only this writer waits for it.
package struct EventWriter: Sendable {
  package let target: EventTarget
  /// Told what has been written, batch by batch.
  package let passedOn: @Sendable ([IngestEvent]) async throws -> Void

  package init(target: EventTarget, passedOn: @escaping @Sendable ([IngestEvent]) async throws -> Void) {
    (self.target, self.passedOn) = (target, passedOn)
  }

  /// Writes until the run's end.
  /// - Throws: ``OutputClosed`` when the reader went away, ``OutputFailure`` when it can't be written, and what ``passedOn``
  ///   throws.
  package func write(_ events: IngestEvents) async throws {
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

/// Writes what changes of posts tell as the lines of `--events`.
package actor ChangeEventWriter {
  private let target: EventTarget?
  private let lines = EventLines()
  private var sequence = 0

  package init(target: EventTarget?) { self.target = target }

  package func write(_ bodies: [IngestEvent.Body]) throws {
    guard let target else { return }
    beginAnew()
    let at = Date.now
    let events = bodies.map { body in
      sequence += 1
      return IngestEvent(sequence: sequence, at: at, body: body)
    }
    try target.stream.write(try lines.lines(events))
  }

  /// What an earlier command has told goes, also where there was nothing to tell.
  package func end() { beginAnew() }

  private func beginAnew() {
    // A pipe or a device has no length.
    if sequence == 0, let target, target.isBegunAnew { _ = ftruncate(target.stream.descriptor, 0) }
  }
}
