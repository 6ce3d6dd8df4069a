import ReelCore
import ReelWire

/// A file to be read.
struct ReadJob: Sendable {
  let size: Int64
  /// The container that its first bytes indicate.
  let container: MediaContainer
  /// Its bytes, as the worker accesses them.
  let bytes: ReadBytes
  /// The flag for this file alone.
  let cancellation: CancellationFlag
}

/// How a worker accesses a file's bytes.
enum ReadBytes: Sendable {
  /// The file, opened for the worker.
  case descriptor(Descriptor)
  /// The worker requests the bytes, and never has a descriptor to read them from.
  case ranges(any SourceHandle)

  /// Chooses how a worker accesses the bytes of `file`.
  /// - Throws: `unreadable`, `tooManyOpenFiles`, `noReader`.
  init(of file: any SourceHandle) throws(ProbeError) {
    self = file.descriptor == nil ? .ranges(file) : .descriptor(try .reopening(file))
  }
}

/// The outcome of a worker's reading of a file.
enum ReadOutcome {
  case report(ProbeReport)
  /// The file cannot be read; the worker is sound.
  case failure(ProbeError)
  /// The bytes were unavailable. No other worker could get them, and this one is sound.
  case withheld(ProbeError)
  /// The worker is no longer usable.
  case loss(ProbeError)
}

/// A file that was sent to a worker, and the wait for the outcome.
struct Exchange {
  enum Attempt {
    /// In a worker that may have read other files before.
    case shared
    /// In a fresh worker, which may read other files afterwards.
    case alone
    /// In a fresh worker that reads no other file, because a worker was already lost to this one.
    case suspect
  }
  let reader: ReadyWorker
  let attempt: Attempt
  private let job: ReadJob
  private let deadline: Duration
  private let receipt: Receipt
  /// Answers the requests of a worker without a descriptor.
  private var ranges: RangeService?
  private let killing: CancellationFlag.Registration
  /// The worker's processor time before this file.
  private let usedBefore: Duration?
  /// When its answer is due.
  private var end: ContinuousClock.Instant
  /// The outcome, if the file could not be sent.
  private let early: ReadOutcome?

  /// Sends the file.
  /// - Throws: `tooManyOpenFiles`, `noReader`, before the worker has seen the file.
  init(
    of job: ReadJob, with reader: ReadyWorker, _ attempt: Attempt, _ settings: WorkerSettings
  ) throws(ProbeError) {
    let issued = try IssuedReceipt()
    receipt = issued.receipt
    if case .ranges(let handle) = job.bytes { ranges = RangeService(handle, size: job.size, settings.limits) }
    self.job = job
    self.reader = reader
    self.attempt = attempt
    deadline = settings.deadline
    usedBefore = reader.worker.process.processorTime
    killing = job.cancellation.onSet { [process = reader.worker.process] in process.kill() }
    early = Self.send(job, to: reader.worker, issued, settings)
    end = .now + deadline
  }

  var worker: Worker { reader.worker }

  /// Whether the worker has used this much processor time for the file; true if unknown.
  func hasUsed(_ time: Duration) -> Bool {
    guard let usedBefore, let used = reader.worker.process.processorTime else { return true }
    return used - usedBefore >= time
  }

  /// Waits for the outcome. Blocks. Nil if there is none at `instant`.
  mutating func outcome(until instant: ContinuousClock.Instant?) -> ReadOutcome? {
    guard let outcome = early ?? answer(until: instant) else { return nil }
    abandon()
    guard job.cancellation.isSet else { return outcome }
    switch outcome {
    case .loss, .withheld: return .loss(.cancelled)
    case .report, .failure: return outcome
    }
  }

  /// Detaches the cancellation flag, so that setting it no longer kills the worker.
  func abandon() {
    job.cancellation.clear(killing)
  }

  private static func send(
    _ job: ReadJob, to worker: Worker, _ receipt: IssuedReceipt, _ settings: WorkerSettings
  ) -> ReadOutcome? {
    let file = settings.request(size: job.size, container: job.container)
    let isSent: Bool
    do throws(WireError) {
      switch job.bytes {
      case .descriptor(let descriptor):
        let request = try file.encoded()
        guard !worker.speaksUnasked else { return .loss(worker.endOrGarble()) }
        isSent = worker.send(request, descriptor: descriptor) && worker.send(receipt)
      case .ranges:
        let request = try RangedRequest(file: file, receipt: receipt.receipt).encoded()
        guard !worker.speaksUnasked else { return .loss(worker.endOrGarble()) }
        isSent = worker.send(fileWithoutDescriptor: request)
      }
    } catch {
      return .failure(ProbeError(.unreadable, "its size is not a valid size"))
    }
    return isSent ? nil : .loss(worker.process.finish().failure)
  }

  private mutating func answer(until instant: ContinuousClock.Instant?) -> ReadOutcome? {
    while true {
      let limit = min(end, instant ?? end)
      switch worker.receive(until: limit) {
      case .frame(let message):
        guard let frame = receipt.frame(of: message) else {
          return .loss(.garbled("it did not close the file first"))
        }
        guard ranges != nil, let request = try? RangeRequest(decoding: frame) else {
          return outcome(of: frame)
        }
        if let loss = answer(request) { return loss }
      case .late where limit < end: return nil
      case .late:
        worker.process.kill()
        return .loss(.late(deadline))
      case .gone: return .loss(worker.process.finish().failure)
      case .tooMuch: return .loss(.garbled("more than an answer can hold"))
      }
    }
  }

  /// Provides the worker with bytes. The time that this takes does not count against the worker: the source has its
  /// own limit.
  private mutating func answer(_ request: RangeRequest) -> ReadOutcome? {
    let begin = ContinuousClock.now
    defer { end += begin.duration(to: .now) }
    guard let reply = ranges?.reply(to: request) else {
      worker.process.kill()
      return .loss(.garbled("it asked for bytes that no honest reader needs"))
    }
    // A worker whose requests have all been answered has room for the reply.
    guard let frame = try? reply.encoded(), worker.send(frame) else {
      return .loss(worker.process.finish().failure)
    }
    return nil
  }

  private func outcome(of frame: [UInt8]) -> ReadOutcome {
    let reply: ReadReply
    do throws(WireError) { reply = try ReadReply(decoding: frame) } catch {
      return .loss(.garbled("\(error)"))
    }
    if let failure = ranges?.failure { return .withheld(ProbeError(failure)) }
    switch reply {
    case .failure(let error) where error.code == .memoryLimit || error.code == .timeout:
      // The file made this worker exhaust a limit, and its heap is fragmented: a new worker is better.
      return .loss(error)
    case .failure(let error): return .failure(error)
    case .facts(let media, let method, let reason, let evidence, let rewriting):
      do throws(ProbeError) {
        try ReplyValidation.check(media, sniffed: job.container, size: job.size)
      } catch { return .loss(error) }
      let provenance = ProbeProvenance(
        method: method, isolation: reader.hello.isolation, ffmpeg: reader.hello.version.ffmpeg)
      var report = ProbeReport(media: media, provenance: provenance, reason: reason, evidence: evidence)
      report.rewriting = rewriting
      return .report(report)
    }
  }
}

extension Worker {
  /// The error for a worker whose channel is readable before any request: it is gone, or it sends unrequested
  /// messages.
  fileprivate func endOrGarble() -> ProbeError {
    if case .gone = receive(until: .now) { return process.finish().failure }
    return .garbled("an unrequested message")
  }
}

extension ProbeError {
  /// Whether the worker's state rather than the file may be to blame, so that a fresh worker should try.
  var deservesAnotherReader: Bool {
    switch code {
    case .crashed, .sandboxViolation, .implausible, .memoryLimit: true
    default: false
    }
  }
}
