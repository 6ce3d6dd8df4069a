import ReelCore
import ReelWire

/// One file to be read.
struct ReadJob: Sendable {
  let size: Int64
  /// What its first bytes say.
  let container: MediaContainer
  /// Its bytes, as the worker gets them.
  let bytes: ReadBytes
  /// Of this file alone.
  let cancellation: CancellationFlag
}

/// How a worker gets at a file's bytes.
enum ReadBytes: Sendable {
  /// The file, opened for the worker.
  case descriptor(Descriptor)
  /// It asks for them, and never has anything to get them from.
  case ranges(any SourceHandle)

  /// - Throws: `unreadable`, `tooManyOpenFiles`, `noReader`.
  init(of file: any SourceHandle) throws(ProbeError) {
    self = file.descriptor == nil ? .ranges(file) : .descriptor(try .reopening(file))
  }
}

/// What a worker made of a file.
enum ReadOutcome {
  case report(ProbeReport)
  /// The file can't be read; the worker is well.
  case failure(ProbeError)
  /// Its bytes could not be had; no worker will fare better, and this one is well.
  case withheld(ProbeError)
  /// The worker is of no use any more.
  case loss(ProbeError)
}

/// A file that a worker was sent, and what came of it.
struct Exchange {
  enum Attempt {
    /// In a worker that may have read other files.
    case shared
    /// In a fresh one, which may read others afterwards.
    case alone
    /// In a fresh one that no other file shares: a worker was lost over this file already.
    case suspect
  }
  let reader: ReadyWorker
  let attempt: Attempt
  private let job: ReadJob
  private let deadline: Duration
  private let receipt: Receipt
  /// What a worker that has no descriptor asks for.
  private var ranges: RangeService?
  private let killing: CancellationFlag.Registration
  /// The worker's processor time before it.
  private let usedBefore: Duration?
  /// When its answer must be there.
  private var end: ContinuousClock.Instant
  /// Where it came to no answer.
  private let early: ReadOutcome?

  /// Sends the file.
  /// - Throws: `tooManyOpenFiles`, `noReader`; the worker has not seen the file then.
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

  /// Whether the worker has used so much processor time for the file; true where that can't be told.
  func hasUsed(_ time: Duration) -> Bool {
    guard let usedBefore, let used = reader.worker.process.processorTime else { return true }
    return used - usedBefore >= time
  }

  /// Blocks for what the worker makes of the file; nil when that is not known at `instant`.
  mutating func outcome(until instant: ContinuousClock.Instant?) -> ReadOutcome? {
    guard let outcome = early ?? answer(until: instant) else { return nil }
    abandon()
    guard job.cancellation.isSet else { return outcome }
    switch outcome {
    case .loss, .withheld: return .loss(.cancelled)
    case .report, .failure: return outcome
    }
  }

  /// A cancellation does not reach the worker any more.
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
          return .loss(.garbled("the file was not given back"))
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

  /// Gives the worker bytes. What that takes is no time of the worker's: the source has a limit of its own.
  private mutating func answer(_ request: RangeRequest) -> ReadOutcome? {
    let begin = ContinuousClock.now
    defer { end += begin.duration(to: .now) }
    guard let reply = ranges?.reply(to: request) else {
      worker.process.kill()
      return .loss(.garbled("it asks for bytes that no file needs"))
    }
    // One that has asked no more than was answered has room for it.
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
      // It has shown what it can be made to do, and its heap is in pieces: better a new one.
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
  /// What to make of one whose channel is readable though nothing was asked: it is gone, or it speaks unasked.
  fileprivate func endOrGarble() -> ProbeError {
    if case .gone = receive(until: .now) { return process.finish().failure }
    return .garbled("more than one")
  }
}

extension ProbeError {
  /// Whether it may have been the worker's state and not the file's fault, so that a fresh worker should judge.
  var deservesAnotherReader: Bool {
    switch code {
    case .crashed, .sandboxViolation, .implausible, .memoryLimit: true
    default: false
    }
  }
}
