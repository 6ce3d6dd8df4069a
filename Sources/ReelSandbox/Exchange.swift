import ReelCore
import ReelWire

/// One file to be read.
struct ReadJob: Sendable {
  let size: Int64
  /// What its first bytes say.
  let container: MediaContainer
  /// The file, opened for the worker.
  let descriptor: Descriptor
  /// Of this file alone.
  let cancellation: CancellationFlag
}

/// What a worker made of a file.
enum ReadOutcome {
  case report(ProbeReport)
  /// The file can't be read; the worker is well.
  case failure(ProbeError)
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
  private let receipt: IssuedReceipt
  private let killing: CancellationFlag.Registration
  /// The worker's processor time before it.
  private let usedBefore: Duration?
  /// When its answer must be there.
  private let end: ContinuousClock.Instant
  /// Where it came to no answer.
  private let early: ReadOutcome?

  /// Sends the file.
  /// - Throws: `tooManyOpenFiles`, `noReader`; the worker has not seen the file then.
  init(
    of job: ReadJob, with reader: ReadyWorker, _ attempt: Attempt, _ settings: WorkerSettings
  ) throws(ProbeError) {
    receipt = try IssuedReceipt()
    self.job = job
    self.reader = reader
    self.attempt = attempt
    deadline = settings.deadline
    usedBefore = reader.worker.process.processorTime
    killing = job.cancellation.onSet { [process = reader.worker.process] in process.kill() }
    early = Self.send(job, to: reader.worker, receipt, settings)
    end = .now + deadline
  }

  var worker: Worker { reader.worker }

  /// Whether the worker has used so much processor time for the file; true where that can't be told.
  func hasUsed(_ time: Duration) -> Bool {
    guard let usedBefore, let used = reader.worker.process.processorTime else { return true }
    return used - usedBefore >= time
  }

  /// Blocks for what the worker makes of the file; nil when that is not known at `instant`.
  func outcome(until instant: ContinuousClock.Instant?) -> ReadOutcome? {
    guard let outcome = early ?? answer(until: instant) else { return nil }
    abandon()
    guard case .loss = outcome, job.cancellation.isSet else { return outcome }
    return .loss(.cancelled)
  }

  /// A cancellation does not reach the worker any more.
  func abandon() {
    job.cancellation.clear(killing)
  }

  private static func send(
    _ job: ReadJob, to worker: Worker, _ receipt: IssuedReceipt, _ settings: WorkerSettings
  ) -> ReadOutcome? {
    guard let request = try? settings.request(size: job.size, container: job.container).encoded() else {
      return .failure(ProbeError(.unreadable, "its size is not a valid size"))
    }
    guard !worker.speaksUnasked else { return .loss(worker.endOrGarble()) }
    guard worker.send(request, descriptor: job.descriptor), worker.send(receipt) else {
      return .loss(worker.process.finish().failure)
    }
    return nil
  }

  private func answer(until instant: ContinuousClock.Instant?) -> ReadOutcome? {
    let limit = min(end, instant ?? end)
    switch worker.receive(until: limit) {
    case .frame(let message):
      guard let frame = receipt.receipt.frame(of: message) else {
        return .loss(.garbled("the file was not given back"))
      }
      return outcome(of: frame)
    case .late where limit < end: return nil
    case .late:
      worker.process.kill()
      return .loss(.late(deadline))
    case .gone: return .loss(worker.process.finish().failure)
    case .tooMuch: return .loss(.garbled("more than an answer can hold"))
    }
  }

  private func outcome(of frame: [UInt8]) -> ReadOutcome {
    let reply: ReadReply
    do throws(WireError) { reply = try ReadReply(decoding: frame) } catch {
      return .loss(.garbled("\(error)"))
    }
    switch reply {
    case .failure(let error) where error.code == .memoryLimit || error.code == .timeout:
      // It has shown what it can be made to do, and its heap is in pieces: better a new one.
      return .loss(error)
    case .failure(let error): return .failure(error)
    case .facts(let media, let method, let reason):
      do throws(ProbeError) {
        try ReplyValidation.check(media, sniffed: job.container, size: job.size)
      } catch { return .loss(error) }
      let provenance = ProbeProvenance(
        method: method, isolation: reader.hello.isolation, ffmpeg: reader.hello.version.ffmpeg)
      return .report(ProbeReport(media: media, provenance: provenance, reason: reason))
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
