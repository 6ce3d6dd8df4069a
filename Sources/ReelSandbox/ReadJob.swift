import ReelModel
import ReelSystem
import ReelWire

/// One file on its way through a worker.
struct ReadJob: Sendable {
  let size: Int64
  /// What its first bytes say.
  let container: MediaContainer
  /// The file, opened for the worker.
  let descriptor: Descriptor
  let interruption: CancellationFlag
}

/// What a worker made of a file.
enum ReadOutcome {
  case report(ProbeReport)
  /// The file can't be read; the worker is well.
  case failure(ProbeError)
  /// The worker is of no use any more.
  case loss(ProbeError)
}

extension ReadJob {
  /// Has `reader` read the file. Blocks, for the deadline at most.
  /// - Throws: `tooManyOpenFiles`, `noReader`; the worker has not seen the file then.
  func read(by reader: GreetedWorker, _ settings: WorkerSettings) throws(ProbeError) -> ReadOutcome {
    let receipt = try IssuedReceipt()
    let worker = reader.worker
    let killing = interruption.onSet { [process = worker.process] in process.kill() }
    defer { interruption.clear(killing) }
    let outcome = exchange(with: reader, settings, receipt)
    guard case .loss = outcome, interruption.isSet else { return outcome }
    return .loss(.cancelled)
  }

  private func exchange(
    with reader: GreetedWorker, _ settings: WorkerSettings, _ receipt: IssuedReceipt
  ) -> ReadOutcome {
    let worker = reader.worker
    guard let request = try? settings.request(size: size, container: container).encoded() else {
      return .failure(ProbeError(.unreadable, "its size is no size"))
    }
    guard !worker.speaksUnasked else { return .loss(worker.endOrGarble()) }
    guard worker.send(request, descriptor: descriptor), worker.send(receipt) else {
      return .loss(worker.process.finish().failure)
    }
    switch worker.receive(until: .now + settings.deadline) {
    case .frame(let message):
      guard let frame = receipt.receipt.frame(of: message) else {
        return .loss(.garbled("the file was not given back"))
      }
      return outcome(of: frame, from: reader)
    case .late:
      worker.process.kill()
      return .loss(.late(settings.deadline))
    case .gone: return .loss(worker.process.finish().failure)
    case .tooMuch: return .loss(.garbled("more than an answer can hold"))
    }
  }

  private func outcome(of frame: [UInt8], from reader: GreetedWorker) -> ReadOutcome {
    let reply: ReadReply
    do throws(WireError) { reply = try ReadReply(decoding: frame) } catch {
      return .loss(.garbled("\(error)"))
    }
    switch reply {
    case .failure(let error) where error.code == .memoryLimit || error.code == .timeout:
      // It has shown what it can be made to do, and its heap is in pieces: better a new one.
      return .loss(error)
    case .failure(let error): return .failure(error)
    case .facts(let media, let method):
      do throws(ProbeError) {
        try Agreement.check(media, sniffed: container, size: size)
      } catch { return .loss(error) }
      let provenance = ProbeProvenance(
        method: method, isolation: reader.hello.isolation, ffmpeg: reader.hello.version.ffmpeg)
      return .report(ProbeReport(media: media, provenance: provenance))
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

  fileprivate static func late(_ deadline: Duration) -> ProbeError {
    ProbeError(
      .timeout,
      "reading it took longer than \(deadline.formattedSeconds); the file is damaged or hostile, or the disk slow"
    )
  }

  fileprivate static func garbled(_ detail: String) -> ProbeError {
    ProbeError(
      .implausible, "what its reader answered is no answer (\(detail)); the file is damaged or hostile")
  }
}

extension Duration {
  /// Seconds for a sentence: `10 s`, `1.5 s`.
  var formattedSeconds: String {
    let tenths = wholeMilliseconds / 100
    return tenths % 10 == 0 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
  }
}
