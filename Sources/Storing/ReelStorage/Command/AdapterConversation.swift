import CReel
import Glibc
import ReelCore

/// One request to an adapter, from start to end. Used on one thread only, which it blocks.
final class AdapterConversation {
  /// The uploader's callbacks for what the adapter says.
  struct Listener {
    var progress: (Int64) -> Void = { _ in }
    /// Called when everything is in the store; throws if the object must not be made visible.
    var staged: () throws(UploadError) -> Void = {}
  }

  private let wording: AdapterWording
  private let limits: AdapterLimits
  private let wake: WakeUp
  private let process: AdapterProcess
  private let listener: Listener
  private let sink: ObjectSink?
  private var dialogue: AdapterDialogue
  private var splitter: LineSplitter
  private var errorTail = ErrorTail()
  private var outputIsOpen = true
  private var errorsAreOpen = true
  private var isCommitted = false
  private var isAsked = false
  private var isTerminated = false
  private var wasCancelled = false
  private var failure: UploadError?
  private var deadline: ContinuousClock.Instant

  /// - Parameters:
  ///   - wake: rung when the task is cancelled.
  ///   - sink: receives the object's bytes during a read-back.
  init(
    with process: AdapterProcess, dialogue: AdapterDialogue, limits: AdapterLimits, wording: AdapterWording,
    wake: WakeUp, sink: ObjectSink? = nil, listener: Listener = Listener()
  ) {
    self.process = process
    self.dialogue = dialogue
    self.limits = limits
    self.wording = wording
    self.wake = wake
    self.sink = sink
    self.listener = listener
    splitter = LineSplitter(most: limits.output)
    deadline = .now + limits.silence
  }

  /// Sends the request, handles the adapter's output until it ends, and returns the result. The adapter's processes are
  /// gone by then.
  /// - Parameter keepsInput: whether the adapter's input stays open after the request, for a later commit.
  func ask(_ request: [UInt8], keepsInput: Bool) throws(UploadError) -> AdapterFields {
    process.say(request)
    if !keepsInput { process.closeInput() }
    while !process.hasEnded, deadline > .now || !isTerminated { listen() }
    let end = process.end()
    drain()
    return try wording.verdict(dialogue.ending, end, failure, errors: errorTail.lastLine)
  }

  // MARK: Listening

  private func listen() {
    let left = deadline - .now
    guard left > .zero else {
      return isAsked ? terminate() : giveUp(wording.silent(for: limits.silence))
    }
    let heard = wait(for: left)
    if heard.contains(process.output.rawValue) { readOutput() }
    if heard.contains(process.errors.rawValue) { readErrors() }
    if let sink, heard.contains(sink.descriptor.rawValue) { readObject(sink) }
    if heard.contains(wake.readable.rawValue) { cancel() }
  }

  /// Reads what is left in the pipes after the adapter has ended. A process that has left the group may hold them open
  /// or keep writing, so the number of rounds is bounded.
  private func drain() {
    for _ in 0..<64 where outputIsOpen || errorsAreOpen || sink?.isOpen == true {
      let heard = wait(for: .milliseconds(200), isEnding: true)
      if heard.isEmpty { break }
      if heard.contains(process.output.rawValue) { readOutput() }
      if heard.contains(process.errors.rawValue) { readErrors() }
      if let sink, heard.contains(sink.descriptor.rawValue) { readObject(sink) }
    }
    if failure == nil, !splitter.unfinished.isEmpty { take(splitter.unfinished) }
  }

  private func wait(for time: Duration, isEnding: Bool = false) -> Set<Int32> {
    var wanted: [pollfd] = []
    func want(_ descriptor: Int32) {
      wanted.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
    }
    if outputIsOpen { want(process.output.rawValue) }
    if errorsAreOpen { want(process.errors.rawValue) }
    if let sink, sink.isOpen { want(sink.descriptor.rawValue) }
    if !isEnding {
      want(process.endDescriptor)
      if !wasCancelled { want(wake.readable.rawValue) }
    }
    // Rounded up, so that poll(2) is not called again for a fraction of a millisecond that was cut off.
    let count = poll(&wanted, nfds_t(wanted.count), Int32(clamping: Int64(time / .milliseconds(1)) + 1))
    guard count > 0 else { return [] }
    return Set(wanted.filter { $0.revents != 0 }.map(\.fd))
  }

  private func readOutput() {
    let chunk = Self.read(process.output, 64 << 10)
    if chunk.isEmpty { outputIsOpen = false }
    // After a failure, output is read only to be discarded.
    guard failure == nil else { return }
    do throws(AdapterViolation) {
      for line in try splitter.lines(in: chunk) { take(line) }
    } catch {
      giveUp(wording.breach(error))
    }
  }

  private func readErrors() {
    let chunk = Self.read(process.errors, 16 << 10)
    if chunk.isEmpty { errorsAreOpen = false }
    errorTail.add(chunk)
  }

  private func readObject(_ sink: ObjectSink) {
    // Bytes give no more time to an adapter that was asked to end.
    if sink.take(), !isAsked { deadline = max(deadline, .now + limits.silence) }
  }

  /// Returns up to `most` bytes; none at the end of the file or on an error.
  static func read(_ descriptor: Descriptor, _ most: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
      let result = try? retryingInterrupts("read") {
        Glibc.read(descriptor.rawValue, buffer.baseAddress, most)
      }
      count = max(0, result ?? 0)
    }
  }

  // MARK: Handling lines

  private func take(_ line: [UInt8]) {
    guard failure == nil else { return }
    do throws(AdapterViolation) {
      switch try dialogue.take(try AdapterLine(parsing: line)) {
      case .nothing: break
      case .progress(let sent):
        listener.progress(sent)
        hearsMore()
      case .staged: commit()
      case .end: hearsMore()
      }
    } catch {
      giveUp(wording.breach(error))
    }
  }

  private func hearsMore() {
    if !wasCancelled { deadline = .now + limits.silence }
  }

  private func commit() {
    // A cancellation that arrived in the meantime comes first.
    if wait(for: .zero).contains(wake.readable.rawValue) { cancel() }
    guard failure == nil else { return }
    do throws(UploadError) {
      try listener.staged()
    } catch {
      return refuse(error)
    }
    isCommitted = true
    process.say(AdapterRequest.commit)
    process.closeInput()
    hearsMore()
  }

  // MARK: Ending early

  private func cancel() {
    wasCancelled = true
    // The object is just becoming visible. Wait for the outcome rather than guess it.
    if isCommitted {
      deadline = min(deadline, .now + limits.commitGrace)
    } else {
      giveUp(wording.cancelled)
    }
  }

  /// Records the failure and closes the input, which tells an adapter that waits for the commit to clean up and end.
  private func refuse(_ error: UploadError) {
    if failure == nil { failure = wasCancelled ? wording.cancelled : error }
    process.closeInput()
    isAsked = true
    deadline = .now + limits.grace
  }

  /// Records the failure and also sends SIGTERM, for an adapter that is not reading its input.
  private func giveUp(_ error: UploadError) {
    refuse(error)
    terminate()
  }

  private func terminate() {
    guard !isTerminated else { return }
    isTerminated = true
    process.terminate()
    deadline = .now + limits.grace
  }
}
