import Dispatch
import Glibc
import CProcess
import ReelCore
import ReelIngest
import ReelSource
import ReelTerminal
import Synchronization

/// What `reel watch` does until a signal ends it: one run after the other, each until the settings are to be read again
/// or something that it needs can't be used.
struct WatchSession: Sendable {
  /// What a run needs, by the settings as they are.
  struct Plan: Sendable {
    let session: RunSession
    let feed: WatchFeed
    let options: IngestOptions
  }

  /// Reads the settings and opens what they name.
  let plan: @Sendable () async throws -> Plan
  let signals: WatchSignals
  let manager: ServiceManager

  /// How long to wait before a run is begun again: longer each time.
  private static let shortestPause = Duration.seconds(5)
  private static let longestPause = Duration.seconds(60)

  /// - Throws: what keeps the first run from beginning; ``OutputClosed``.
  func run() async throws {
    let watchdog = manager.beginWatchdog()
    defer { watchdog?.cancel() }
    var next = try await plan()
    var pause = Self.shortestPause
    while true {
      let begun = ContinuousClock.now
      let report = try await next.session.watch(next.feed, signals: signals, options: next.options)
      switch signals.take() {
      case .end:
        manager.tell("STOPPING=1")
        return try next.session.tell(report)
      case .reload: manager.tell("RELOADING=1\nMONOTONIC_USEC=\(ServiceManager.monotonicMicroseconds)")
      case nil:
        // It could not go on.
        try next.session.tell(report)
        if ContinuousClock.now - begun > Self.longestPause { pause = Self.shortestPause }
        guard await waits(pause) else { return }
        pause = min(Self.longestPause, pause * 2)
      }
      guard let planned = await replan(&pause) else { return }
      next = planned
    }
  }

  /// Until it can go on; nil when a signal ends it before that.
  private func replan(_ pause: inout Duration) async -> Plan? {
    while true {
      do {
        return try await plan()
      } catch {
        (error as? CommandFailure)?.tell()
        guard await waits(pause) else { return nil }
        pause = min(Self.longestPause, pause * 2)
      }
    }
  }

  /// - Returns: false when a signal ends everything.
  private func waits(_ pause: Duration) async -> Bool {
    await signals.wait(atMost: pause)
    return signals.take() != .end
  }
}

/// The signals of a process that runs for months: SIGINT and SIGTERM end it, SIGHUP lets it read its settings again.
///
/// One in a process, as signals are the process's.
final class WatchSignals: Sendable {
  enum Wish {
    case end, reload
  }
  /// What was wished for, and who waits for that.
  private final class Wishes: Sendable {
    private struct State {
      var wish: Wish?
      var onWish: (@Sendable () -> Void)?
    }
    private let state = Mutex(State())

    var wish: Wish? { state.withLock { $0.wish } }

    func note(_ wish: Wish) {
      let action = state.withLock { state in
        // An end stays one.
        if state.wish != .end { state.wish = wish }
        return state.onWish
      }
      action?()
    }

    func take() -> Wish? {
      state.withLock { state in
        defer { if state.wish == .reload { state.wish = nil } }
        return state.wish
      }
    }

    /// - Parameter action: called at once where there is a wish already; nil for none.
    func whenWished(_ action: (@Sendable () -> Void)?) {
      let isWished = state.withLock { state in
        state.onWish = action
        return state.wish != nil
      }
      if isWished { action?() }
    }
  }
  private let wishes = Wishes()

  /// From now on no signal is lost.
  init() {
    let numbers = [SIGINT, SIGTERM]
    let descriptor = reel_signals_listen(numbers, Int32(numbers.count), ReelExit.interrupted.rawValue)
    guard descriptor >= 0 else { return }
    reel_signals_only_tell(SIGHUP)
    // A thread of its own, as long as the process: the shared ones may all be waiting for a disk.
    DispatchQueue(label: "reel.signals").async { [wishes] in
      var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      while true {
        poll(&request, 1, -1)
        var byte: UInt8 = 0
        while read(descriptor, &byte, 1) == 1 { wishes.note(Int32(byte) == SIGHUP ? .reload : .end) }
      }
    }
  }

  /// What was wished for since the last call.
  func take() -> Wish? { wishes.take() }

  /// Waits for `task`, which is cancelled when the process is to end.
  /// - Parameter drain: called when the settings are to be read again: what is under way is finished first.
  /// - Returns: its result, and whether it was cancelled.
  func ending<Value: Sendable>(
    _ task: Task<Value, Never>, drain: @escaping @Sendable () -> Void
  ) async -> (value: Value, wasInterrupted: Bool) {
    wishes.whenWished { [wishes] in
      if wishes.wish == .end { task.cancel() } else { drain() }
    }
    let value = await task.value
    wishes.whenWished(nil)
    return (value, wishes.wish == .end)
  }

  /// Waits for a signal.
  func wait(atMost patience: Duration) async {
    let pause = Task { _ = try? await Task.sleep(for: patience) }
    wishes.whenWished { pause.cancel() }
    await pause.value
    wishes.whenWished(nil)
  }
}

/// Whoever has started this process and wants to be told how it is: systemd, by sd_notify(3).
struct ServiceManager: Sendable {
  private let socket: String?
  private let watchdog: Duration?

  private static let alive = "WATCHDOG=1"

  init(environment: [String: String]) {
    socket = environment["NOTIFY_SOCKET"].flatMap { $0.isEmpty ? nil : $0 }
    let isOurs = environment["WATCHDOG_PID"].flatMap { Int32($0) }.map { $0 == getpid() } ?? true
    watchdog = isOurs ? environment["WATCHDOG_USEC"].flatMap { Int64($0) }.map { .microseconds($0) } : nil
  }

  static var monotonicMicroseconds: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
  }

  /// Says that it lives, twice as often as it is to; nil where nobody wants to know.
  func beginWatchdog() -> Task<Void, Never>? {
    guard let watchdog, watchdog > .zero, socket != nil else { return nil }
    return Task {
      while !Task.isCancelled {
        tell(Self.alive)
        _ = try? await Task.sleep(for: watchdog / 2)
      }
    }
  }

  /// One datagram. Whoever does not take it for a second is not waited for, and with a sign of life not at all.
  func tell(_ words: String) {
    guard let socket else { return }
    let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var path = Array(socket.utf8)
    // A name that begins with @ is one without a file (unix(7)).
    if path.first == UInt8(ascii: "@") { path[0] = 0 }
    guard path.count <= MemoryLayout.size(ofValue: address.sun_path) else { return }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
    let length = MemoryLayout<sa_family_t>.size + path.count
    let bytes = Array(words.utf8)
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        for _ in 0..<(words == Self.alive ? 1 : 100) {
          let sent = sendto(
            descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT), $0, socklen_t(length))
          guard sent < 0, errno == EAGAIN else { return }
          usleep(10_000)
        }
      }
    }
  }
}
