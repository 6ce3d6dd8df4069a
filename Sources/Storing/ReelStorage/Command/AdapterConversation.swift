import CReel
import Glibc
import ReelCore

/// One request to an adapter, from its start to its end. Stays on one thread, which it blocks.
final class AdapterConversation {
  /// What the uploader does with what it hears.
  struct Listener {
    var progress: (Int64) -> Void = { _ in }
    /// May the object be made visible?
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
  ///   - wake: rings when the task is cancelled.
  ///   - sink: takes the object's bytes when they are read back.
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

  /// Asks, listens to the end, and gives the result. The adapter's processes are gone when it returns.
  /// - Parameter keepsInput: whether there may be more to say later.
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

  /// What was said before the end, and lies in the pipes still. A process that got away from its group may hold
  /// them open, or go on writing: nobody waits for it.
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
    // A little more, so that it is not asked again for the part of a millisecond that was cut off.
    let count = poll(&wanted, nfds_t(wanted.count), Int32(clamping: Int64(time / .milliseconds(1)) + 1))
    guard count > 0 else { return [] }
    return Set(wanted.filter { $0.revents != 0 }.map(\.fd))
  }

  private func readOutput() {
    let chunk = Self.read(process.output, 64 << 10)
    if chunk.isEmpty { outputIsOpen = false }
    // What comes after it was given up is only thrown away.
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
    if sink.take() { deadline = max(deadline, .now + limits.silence) }
  }

  /// Nothing at the end, and when it can't be read.
  static func read(_ descriptor: Descriptor, _ most: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
      let result = try? retryingInterrupts("read") {
        Glibc.read(descriptor.rawValue, buffer.baseAddress, most)
      }
      count = max(0, result ?? 0)
    }
  }

  // MARK: Understanding

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
    // Whoever cancelled while it was listened to is heard first.
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

  // MARK: Giving up

  private func cancel() {
    wasCancelled = true
    // What is being made visible now is better known than guessed.
    if isCommitted {
      deadline = min(deadline, .now + limits.commitGrace)
    } else {
      giveUp(wording.cancelled)
    }
  }

  /// The end of its input tells an adapter that waits for our word to clean up and end.
  private func refuse(_ error: UploadError) {
    if failure == nil { failure = wasCancelled ? wording.cancelled : error }
    process.closeInput()
    isAsked = true
    deadline = .now + limits.grace
  }

  /// For an adapter that does not listen.
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
