import ReelCore
import ReelIngest
import ReelTerminal

/// Writes a run's events as JSON lines. Its reader may be slow: only this writer waits for it.
struct EventWriter: Sendable {
  let target: EventTarget
  /// Told what has been written, batch by batch.
  let passedOn: @Sendable ([IngestEvent]) async -> Void

  /// Writes until the run's end.
  /// - Throws: ``OutputClosed`` when the reader went away, ``CommandFailure`` when it can't be written.
  func write(_ events: IngestEvents) async throws {
    let queue = BlockingQueue(label: "reel.events", width: 1)
    let lines = EventLines()
    for await batch in events.batches() {
      let bytes = try lines.lines(batch)
      let stream = target.stream
      let result = await queue.run { Result { try stream.write(bytes) } }
      try result.get()
      await passedOn(batch)
    }
  }
}
