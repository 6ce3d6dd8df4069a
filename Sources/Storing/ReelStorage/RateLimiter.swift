import Dispatch
import ReelCore
import Synchronization

/// Limits the bytes per second of all callers together: one limiter for all uploads of a run.
///
/// Each caller gets the next free stretch of time, so parallel uploads share the rate. Unused time is not saved up:
/// after a pause, at most the bytes of 50 ms pass at once.
public final class RateLimiter: Sendable {
  /// The rate in bytes per second, at least 1.
  public let bytesPerSecond: Int64

  private let now: @Sendable () -> ContinuousClock.Instant
  private let sleep: @Sendable (Duration) -> Void
  private let suspend: @Sendable (Duration) async throws(CancellationError) -> Void
  /// When the bytes let through so far will have taken their time at this rate.
  private let busyUntil: Mutex<ContinuousClock.Instant>

  /// How much unused time may be made up for after a pause.
  static let burst = Duration.milliseconds(50)

  /// - Parameters:
  ///   - bytesPerSecond: at least 1.
  ///   - now: returns the time; a test passes its own.
  ///   - sleep: blocks the calling thread for that long; a test's does not.
  ///   - suspend: suspends the calling task for that long, and throws if it is cancelled; a test's does not wait.
  public init(
    bytesPerSecond: Int64, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
    sleep: @escaping @Sendable (Duration) -> Void = RateLimiter.block,
    suspend: @escaping @Sendable (Duration) async throws(CancellationError) -> Void = RateLimiter.wait
  ) {
    self.bytesPerSecond = max(1, bytesPerSecond)
    self.now = now
    self.sleep = sleep
    self.suspend = suspend
    busyUntil = Mutex(now())
  }

  /// The most that a caller should pass at once, so that others wait for no more than about 50 ms, and a cancelled
  /// upload notices soon: at least one byte.
  public var largestPiece: Int {
    Int(clamping: max(1, min(bytesPerSecond / 20, 1 << 20)))
  }

  /// Blocks until `bytes` more may pass.
  public func pass(_ bytes: Int) {
    let wait = reserve(bytes)
    if wait > .zero { sleep(wait) }
  }

  /// Waits until `bytes` more may pass, without blocking a thread.
  /// - Throws: if the task is cancelled meanwhile.
  public func passing(_ bytes: Int) async throws(CancellationError) {
    let wait = reserve(bytes)
    if wait > .zero { try await suspend(wait) }
  }

  /// Reserves the next stretch of time for `bytes`, and returns how long to wait for its end.
  func reserve(_ bytes: Int) -> Duration {
    guard bytes > 0 else { return .zero }
    let moment = now()
    let time = Duration.seconds(Double(bytes) / Double(bytesPerSecond))
    return busyUntil.withLock { busyUntil in
      busyUntil = max(busyUntil, moment - Self.burst) + time
      return busyUntil - moment
    }
  }

  /// Blocks the calling thread for `time`.
  public static func block(for time: Duration) {
    // Nothing signals the semaphore: it is there to time out.
    _ = DispatchSemaphore(value: 0).wait(timeout: .now() + time / .seconds(1))
  }

  /// Suspends the calling task for `time`.
  public static func wait(for time: Duration) async throws(CancellationError) {
    try await rethrowing(as: { _ in CancellationError() }) { try await Task.sleep(for: time) }
  }
}

/// Limits the rate at which another uploader reads its sources, all of them together.
///
/// Every byte read from a source counts, whether it is sent or only hashed. This is for uploaders that read a file once
/// and send what they read. HTTP traffic is limited where it is sent (`CurlTransport`). An uploader that hands on the
/// file itself (`command:`) can't be limited here.
public struct RateLimitedUploader: UploaderDecorator {
  package let base: any Uploader
  private let limiter: RateLimiter

  /// - Parameter limiter: shared with the other uploaders of the run.
  public init(base: any Uploader, limiter: RateLimiter) {
    self.base = base
    self.limiter = limiter
  }

  /// Nil: a private copy that becomes the object would be made without any limit.
  public var staging: (any StagingArea)? { nil }

  /// Nil, for the same reason.
  public var batches: (any BatchStore)? { nil }

  /// Uploads through the base uploader, from a source that yields its bytes at the limiter's rate and has no
  /// descriptor.
  public func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    var limited = UploadSource(
      size: source.size, digest: source.digest, contentType: source.contentType,
      bytes: LimitedBytes(base: source.bytes, limiter: limiter))
    (limited.origin, limited.isIntended) = (source.origin, source.isIntended)
    return try await base.upload(limited, to: key, reporting: reporting)
  }
}

/// Bytes that are read at a limiter's rate.
struct LimitedBytes: SummedBytes {
  let base: any ByteSource
  let limiter: RateLimiter

  var descriptor: Int32? { nil }
  var isPrivate: Bool { base.isPrivate }
  var summedDigest: SummedDigest? { (base as? any SummedBytes)?.summedDigest }

  /// Reads at most ``RateLimiter/largestPiece``, and waits for as long as that takes at the limiter's rate.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
    let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, limiter.largestPiece)])
    let count = try base.read(into: piece, at: offset)
    limiter.pass(count)
    return count
  }

  func checkUnchanged() throws(SourceError) { try base.checkUnchanged() }
}

/// A rate as people write it: `10MB/s`, `512KiB/s`, `2.5 MB`, `800000`.
public struct ByteRate: Hashable, Sendable {
  /// The rate in bytes per second, at least 1.
  public let bytesPerSecond: Int64

  /// Parses a number with an optional unit and an optional `/s`. `K`, `M`, `G` and `T` stand for powers of 1000; `Ki`,
  /// `Mi`, `Gi` and `Ti` for powers of 1024 (IEC 80000-13); either may be followed by `B`. Case is ignored, except that
  /// of `b`: bits are not bytes, so `10Mb/s` is nil, as is everything else that is not a rate of at least one byte per
  /// second.
  public init?(_ text: String) {
    var rest = text.trimming { $0 == " " }
    if rest.lowercased().hasSuffix("/s") { rest = rest.dropLast(2).trimming { $0 == " " } }
    let digits = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    let unit = rest.dropFirst(digits.count).trimming { $0 == " " }
    guard let number = Double(digits), digits.first != ".", digits.last != ".", let factor = Self.factor(unit)
    else { return nil }
    let rate = (number * factor).rounded()
    guard rate >= 1, let bytes = Int64(exactly: rate) else { return nil }
    bytesPerSecond = bytes
  }

  private static func factor(_ unit: Substring) -> Double? {
    // What stands before the B; a small b would mean bits.
    guard !unit.hasSuffix("b") else { return nil }
    let prefix = (unit.hasSuffix("B") ? unit.dropLast() : unit).lowercased()
    switch prefix {
    case "": return 1
    case "k": return 1e3
    case "m": return 1e6
    case "g": return 1e9
    case "t": return 1e12
    case "ki": return 1024
    case "mi": return 1_048_576
    case "gi": return 1_073_741_824
    case "ti": return 1_099_511_627_776
    default: return nil
    }
  }
}
