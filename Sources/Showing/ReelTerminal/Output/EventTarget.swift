import FoundationEssentials
import Glibc
import ReelCore
import ReelIngest

/// The target of `--events`.
package struct EventTarget: Sendable {
  package let stream: OutputStream
  /// Closes the descriptor with its last holder; nil if this process did not open it.
  package let owner: Descriptor?
  /// Whether it is standard output, in which case the report moves to stderr.
  package let isStandardOutput: Bool
  /// Whether to discard what an earlier run wrote, before the first event.
  package var isBegunAnew = false

  /// Opens `FILE`, `-` or `fd:N`; nil if no target was given. A file keeps its contents until there are events.
  /// - Parameter appends: whether to append to a file rather than start it over.
  /// - Throws: ``OutputFailure`` if it can't be opened, before anything else is done.
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

/// Writes a run's events as JSON lines. If the reader is slow, only this writer waits for it.
package struct EventWriter: Sendable {
  package let target: EventTarget
  /// Called with the events that have been written, batch by batch.
  package let passedOn: @Sendable ([IngestEvent]) async throws -> Void

  package init(target: EventTarget, passedOn: @escaping @Sendable ([IngestEvent]) async throws -> Void) {
    (self.target, self.passedOn) = (target, passedOn)
  }

  /// Writes until the run's end.
  /// - Throws: ``OutputClosed`` if the reader has gone away, ``OutputFailure`` if the target can't be written, and what
  ///   ``passedOn`` throws.
  package func write(_ events: IngestEvents) async throws {
    let queue = BlockingQueue(label: "reel.events", width: 1)
    let lines = EventLines()
    if target.isBegunAnew {
      // This fails for a pipe or a device, which has no length.
      await queue.run { [target] in _ = ftruncate(target.stream.descriptor, 0) }
    }
    for await batch in events.batches() {
      let bytes = try lines.lines(batch)
      try await queue.run { [target] in try target.stream.write(bytes) }
      try await passedOn(batch)
    }
  }
}

/// Writes the events of post changes as lines of `--events`.
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

  /// Discards what an earlier command wrote, even if there was no event.
  package func end() { beginAnew() }

  private func beginAnew() {
    // This fails for a pipe or a device, which has no length.
    if sequence == 0, let target, target.isBegunAnew { _ = ftruncate(target.stream.descriptor, 0) }
  }
}
