import ReelCore
import ReelStorageTesting
import Synchronization
import Testing

@testable import ReelStorage

@Suite struct RateLimiterTests {
  /// A clock that advances only by sleeping.
  private final class Time: Sendable {
    private let moment = Mutex(ContinuousClock.now)
    let slept = Mutex(Duration.zero)

    var now: ContinuousClock.Instant { moment.withLock { $0 } }

    func advance(by time: Duration) { moment.withLock { $0 += time } }

    func limiter(_ bytesPerSecond: Int64) -> RateLimiter {
      RateLimiter(bytesPerSecond: bytesPerSecond, now: { self.now }) { time in
        self.advance(by: time)
        self.slept.withLock { $0 += time }
      }
    }
  }

  @Test(
    "a transfer takes its full time, whatever the size of its pieces",
    arguments: [1, 1000, 65_536, 10_000_000])
  func pace(_ rate: Int64) {
    let time = Time()
    let limiter = time.limiter(rate)
    let start = time.now
    var left = rate * 10
    while left > 0 {
      let piece = min(left, Int64(limiter.largestPiece))
      limiter.pass(Int(piece))
      left -= piece
    }
    let seconds = (time.now - start) / .seconds(1)
    #expect(seconds > 9.9 && seconds < 10.1, "\(seconds) s")
  }

  @Test func severalShareIt() {
    let time = Time()
    let limiter = time.limiter(1000)
    // No caller sleeps: each is told to wait for those before it.
    let waits = (0..<4).map { _ in limiter.reserve(500) / .seconds(1) }
    for (wait, least) in zip(waits, [0.4, 0.9, 1.4, 1.9]) { #expect(wait >= least && wait <= least + 0.11) }
  }

  @Test func aPauseIsNotMadeUpFor() {
    let time = Time()
    let limiter = time.limiter(1000)
    limiter.pass(1000)
    time.advance(by: .seconds(100))
    #expect(limiter.reserve(1000) >= .milliseconds(949))
  }

  @Test func nothingCostsNothing() {
    let limiter = Time().limiter(1)
    #expect(limiter.reserve(0) == .zero)
    #expect(limiter.largestPiece == 1)
    #expect(RateLimiter(bytesPerSecond: .max).largestPiece == 1 << 20)
    #expect(RateLimiter(bytesPerSecond: -5).bytesPerSecond == 1)
  }

  @Test func uploadsOfARunTakeTurns() async throws {
    let time = Time()
    let limiter = time.limiter(1_000_000)
    let store = MemoryUploader()
    let (one, two) = (
      RateLimitedUploader(base: store, limiter: limiter), RateLimitedUploader(base: store, limiter: limiter)
    )
    async let first = one.upload(.filled(1_500_000), to: key("a.mp4"))
    async let second = two.upload(.filled(1_500_000), to: key("b.mp4"))
    _ = try await (first, second)
    // On this clock the sleeps of both threads add up, so the total can only be longer.
    #expect(time.slept.withLock { $0 } >= .seconds(2.9))
  }

  @Test("it keeps every promise", arguments: UploaderContractTest.all)
  func promises(_ promise: UploaderContractTest) async throws {
    let store = MemoryUploader()
    let limiter = RateLimiter(bytesPerSecond: 1 << 40)
    try await promise.check(
      StoreUnderTest(largeSize: 3 << 20 + 1) { RateLimitedUploader(base: store, limiter: limiter) })
  }

  @Test(
    "usual notations of rates are understood",
    arguments: [
      ("10MB/s", 10_000_000), ("10MB", 10_000_000), ("10M", 10_000_000), ("10m/s", 10_000_000),
      ("512KiB/s", 524_288), ("512 KiB/s", 524_288), (" 2.5 MB/s ", 2_500_000), ("800000", 800_000),
      ("800000/s", 800_000), ("1B/S", 1), ("1kB/s", 1000), ("1KB", 1000), ("3GiB", 3_221_225_472),
      ("1TB/s", 1_000_000_000_000), ("0.5kB", 500),
    ] as [(String, Int64)])
  func rates(_ text: String, _ bytes: Int64) {
    #expect(ByteRate(text)?.bytesPerSecond == bytes)
  }

  @Test(
    "invalid rates are rejected",
    arguments: [
      "", " ", "MB/s", "-1MB", "10Mb/s", "10Mbit/s", "0", "0MB/s", "0.4", "1e3", "1,5MB", "10MB/m",
      "10MB/s/s",
      "∞", "10 M B", ".5MB", "5.MB", "1.2.3MB", "99999999999999999999TB", "٣MB", "/s", "10MBps",
    ])
  func noRates(_ text: String) {
    #expect(ByteRate(text) == nil)
  }
}

@Suite struct ConcurrentUploaderTests {
  @Test("it keeps every promise", arguments: UploaderContractTest.all)
  func promises(_ promise: UploaderContractTest) async throws {
    let store = MemoryUploader()
    try await promise.check(
      StoreUnderTest(largeSize: 3 << 20 + 1) { ConcurrentUploader(base: store, uploads: 2) })
  }

  @Test func noMoreThanSoManyAtOnce() async throws {
    let gauge = Gauge()
    let uploader = ConcurrentUploader(base: GaugedUploader(base: MemoryUploader(), gauge: gauge), uploads: 3)
    try await withThrowingTaskGroup { group in
      for number in 0..<20 {
        group.addTask {
          try await uploader.upload(.filled(10), to: key("k\(number)"))
        }
      }
      try await group.waitForAll()
    }
    #expect(gauge.most == 3)
  }

  /// Counts the uploads under way.
  private final class Gauge: Sendable {
    private let state = Mutex((now: 0, most: 0))

    var most: Int { state.withLock { $0.most } }

    func enter() {
      state.withLock { state in
        state.now += 1
        state.most = max(state.most, state.now)
      }
    }

    func leave() { state.withLock { $0.now -= 1 } }
  }

  private struct GaugedUploader: UploaderDecorator {
    let base: any Uploader
    let gauge: Gauge

    func upload(
      _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
    ) async throws(UploadError) -> StoredObject {
      gauge.enter()
      defer { gauge.leave() }
      // No upload leaves before all permitted ones have entered.
      let end = ContinuousClock.now + .seconds(600)
      while gauge.most < 3, ContinuousClock.now < end { await Task.yield() }
      return try await base.upload(source, to: key, reporting: reporting)
    }
  }
}
