import CCurl
import Glibc
import ReelCore
import Synchronization

/// Runs transfers on a thread of its own, which starts with the first transfer and ends with ``stop()``.
final class CurlLoop: Sendable {
  fileprivate enum Command: Sendable {
    case start(CurlTransfer)
    case cancel(CurlTransfer)
    case resume(CurlTransfer)
    case stop
  }

  private struct State: Sendable {
    var commands: [Command] = []
    var running: Running?
  }

  private struct Running: Sendable {
    let thread: pthread_t
    let handles: CurlHandles
  }

  private let state = Mutex(State())
  /// The number of connections kept for reuse.
  private let connections: Int
  fileprivate let proxy: String?
  private let extraCertificates: ExtraCertificates?

  init(connections: Int, proxy: String?, extraCertificates: ExtraCertificates?) {
    (self.connections, self.proxy, self.extraCertificates) = (connections, proxy, extraCertificates)
  }

  /// Runs `transfer` to its end. If the task is cancelled, the transfer ends at once.
  func run(_ transfer: CurlTransfer) async -> Result<CurlReply, HTTPFailure> {
    do throws(HTTPFailure) {
      try start()
    } catch {
      return .failure(error)
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        transfer.continuation = continuation
        post(.start(transfer))
      }
    } onCancel: {
      post(.cancel(transfer))
    }
  }

  /// Stops the thread and waits for it to end. No transfer may be in progress.
  func stop() {
    let running = state.withLock { state in
      defer { state.running = nil }
      if state.running != nil { state.commands.append(.stop) }
      return state.running
    }
    guard let running else { return }
    running.handles.wake()
    // The end of the last transfer may release this loop on the loop's own thread, which can't join itself.
    if pthread_equal(running.thread, pthread_self()) != 0 {
      pthread_detach(running.thread)
    } else {
      pthread_join(running.thread, nil)
    }
  }

  private func start() throws(HTTPFailure) {
    try state.withLock { state throws(HTTPFailure) in
      guard state.running == nil else { return }
      let curl = try Curl()
      let trust: CertificateTrust
      do throws(HTTPFailure) {
        trust = try CertificateTrust(curl.trusted, extraCertificates)
      } catch {
        curl.close()
        throw error
      }
      guard let multi = curl.makeMulti(keeping: connections) else {
        curl.close()
        throw .noLibrary("it can't be made ready")
      }
      let handles = CurlHandles(curl, multi)
      let work = Unmanaged.passRetained(CurlThread(self, handles, trust))
      var thread = pthread_t()
      let code = pthread_create(
        &thread, nil,
        { context in
          guard let context else { return nil }
          Unmanaged<CurlThread>.fromOpaque(context).takeRetainedValue().run()
          return nil
        }, work.toOpaque())
      guard code == 0 else {
        work.release()
        throw .noLibrary("no thread for it can be started: \(SystemError(code: code, call: "").reason)")
      }
      state.running = Running(thread: thread, handles: handles)
    }
  }

  fileprivate func post(_ command: Command) {
    let running = state.withLock { state in
      state.commands.append(command)
      // If commands were pending already, the thread has been woken and has not gone back to sleep since.
      return state.commands.count == 1 ? state.running : nil
    }
    // Wake it outside the lock, which the thread takes as soon as it is awake.
    running?.handles.wake()
  }

  fileprivate func commands() -> [Command] {
    state.withLock { state in
      defer { state.commands.removeAll(keepingCapacity: true) }
      return state.commands
    }
  }
}

/// The handles that a thread works with. Freed when neither the thread nor a caller about to wake it holds them.
private final class CurlHandles: @unchecked Sendable {
  // Sendable: threads other than the loop's own call only `wake()`.
  let curl: Curl
  let multi: Curl.Multi

  init(_ curl: Curl, _ multi: Curl.Multi) { (self.curl, self.multi) = (curl, multi) }

  deinit {
    curl.end(multi)
    curl.close()
  }

  func wake() { curl.wake(multi) }
}

/// The work of the thread. Only that thread uses it.
private final class CurlThread {
  private let loop: CurlLoop
  private let handles: CurlHandles
  private var curl: Curl { handles.curl }
  private var multi: Curl.Multi { handles.multi }
  private let trust: CertificateTrust
  private let kept = KeptConnections()
  private var transfers: [Curl.Easy: CurlTransfer] = [:]
  /// When limits are checked next.
  private var look = ContinuousClock.now
  private var isStopping = false

  init(_ loop: CurlLoop, _ handles: CurlHandles, _ trust: CertificateTrust) {
    (self.loop, self.handles, self.trust) = (loop, handles, trust)
  }

  func run() {
    Self.leaveSignalsAlone()
    while true {
      for command in loop.commands() { obey(command) }
      if isStopping { break }
      curl.perform(multi)
      while let (easy, code) = curl.ended(multi) {
        guard let transfer = transfers[easy] else { continue }
        if code == CURLE_ABORTED_BY_CALLBACK, transfer.needsNewConnection, !transfer.hasBegun {
          curl.remove(easy, from: multi)
          transfer.startAnew()
          if curl.add(easy, to: multi) { continue }
        }
        end(transfer, transfer.result(code))
      }
      lookAtLimits()
      curl.wait(multi, milliseconds: pause)
    }
    for transfer in transfers.values { end(transfer, .failure(.cancelled)) }
  }

  private func obey(_ command: CurlLoop.Command) {
    switch command {
    case .start(let transfer): begin(transfer)
    case .cancel(let transfer):
      transfer.isCancelled = true
      if transfer.easy != nil { end(transfer, .failure(.cancelled)) }
    case .resume(let transfer): transfer.resume()
    case .stop: isStopping = true
    }
  }

  private func begin(_ transfer: CurlTransfer) {
    if transfer.isCancelled { return end(transfer, .failure(.cancelled)) }
    let wake: @Sendable () -> Void = { [weak loop, weak transfer] in
      if let transfer { loop?.post(.resume(transfer)) }
    }
    guard let easy = transfer.prepare(curl, trust, kept, proxy: loop.proxy, wake: wake),
      curl.add(easy, to: multi)
    else { return end(transfer, .failure(.noLibrary("it does not take a request"))) }
    transfers[easy] = transfer
    look = min(look, .now + transfer.request.limits.step)
  }

  private func end(_ transfer: CurlTransfer, _ result: Result<CurlReply, HTTPFailure>) {
    if let easy = transfer.easy, transfers.removeValue(forKey: easy) != nil { curl.remove(easy, from: multi) }
    transfer.release()
    transfer.continuation?.resume(returning: result)
    transfer.continuation = nil
  }

  private func lookAtLimits() {
    guard !transfers.isEmpty else { return }
    let now = ContinuousClock.now
    guard now >= look else { return }
    for transfer in transfers.values {
      if let failure = transfer.expiry(at: now) { end(transfer, .failure(failure)) }
    }
    look = now + (transfers.values.map { $0.request.limits.step }.min() ?? .seconds(1))
  }

  /// The time in milliseconds until limits have to be checked; libcurl wakes earlier if it has to.
  private var pause: Int32 {
    guard !transfers.isEmpty else { return .max }
    return Int32(clamping: max(0, Int64((look - .now) / .milliseconds(1)) + 1))
  }

  /// Blocks all signals: they are for the program's own threads. SIGPIPE is not needed, as the write to a closed
  /// socket fails.
  private static func leaveSignalsAlone() {
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, nil)
  }
}

extension CurlLimits {
  /// How late an expired limit may be noticed.
  fileprivate var step: Duration {
    max(.milliseconds(10), min(.seconds(1), min(idle, min(whole(0), answer ?? idle)) / 20))
  }
}
