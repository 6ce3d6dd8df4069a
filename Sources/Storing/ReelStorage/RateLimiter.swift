import Dispatch
import ReelCore
import Synchronization

/// Lets so many bytes a second through, whoever asks: one limiter for all uploads of a run.
///
/// Everybody who asks gets the next free stretch of time, so uploads side by side share the rate, and nobody waits
/// for what was not used: after a pause it goes on at the same rate, with no burst beyond what 50 ms let through.
public final class RateLimiter: Sendable {
  /// Bytes a second, at least 1.
  public let bytesPerSecond: Int64

  private let now: @Sendable () -> ContinuousClock.Instant
  private let sleep: @Sendable (Duration) -> Void
  private let suspend: @Sendable (Duration) async throws(CancellationError) -> Void
  /// When what was let through so far has taken its time.
  private let busyUntil: Mutex<ContinuousClock.Instant>

  /// What may go at once after a pause.
  static let burst = Duration.milliseconds(50)

  /// - Parameters:
  ///   - bytesPerSecond: at least 1.
  ///   - now: the time; a test's own.
  ///   - sleep: blocks the calling thread so long; a test's does not.
  ///   - suspend: lets the calling task wait so long, and throws when it is cancelled; a test's does not wait.
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

  /// What one who asks takes at most, so that nobody holds the line for longer than about 50 ms, and a cancelled
  /// upload notices soon: at least one byte.
  public var largestPiece: Int {
    Int(clamping: max(1, min(bytesPerSecond / 20, 1 << 20)))
  }

  /// Blocks until `bytes` more may pass.
  public func pass(_ bytes: Int) {
    let wait = reserve(bytes)
    if wait > .zero { sleep(wait) }
  }

  /// Waits until `bytes` more may pass; no thread is held.
  /// - Throws: when the task is cancelled meanwhile.
  public func passing(_ bytes: Int) async throws(CancellationError) {
    let wait = reserve(bytes)
    if wait > .zero { try await suspend(wait) }
  }

  /// Takes the next stretch of time for `bytes`, and gives how long to wait for its end.
  func reserve(_ bytes: Int) -> Duration {
    guard bytes > 0 else { return .zero }
    let moment = now()
    let time = Duration.seconds(Double(bytes) / Double(bytesPerSecond))
    return busyUntil.withLock { busyUntil in
      busyUntil = max(busyUntil, moment - Self.burst) + time
      return busyUntil - moment
    }
  }

  /// Blocks the calling thread.
  public static func block(for time: Duration) {
    // Nobody signals it: it is there to time out.
    _ = DispatchSemaphore(value: 0).wait(timeout: .now() + time / .seconds(1))
  }

  /// Lets the calling task wait.
  public static func wait(for time: Duration) async throws(CancellationError) {
    try await rethrowing(as: { _ in CancellationError() }) { try await Task.sleep(for: time) }
  }
}

/// Keeps the sources of another uploader's uploads to a rate, all of them together.
///
/// What is read from the source counts, whether it is sent or only hashed: for uploaders that read a file once, and
/// send what they read. What goes out over HTTP is held to the rate where it is sent (`CurlTransport`). An uploader
/// that hands the file itself on (`command:`) can't be held to anything here.
public struct RateLimitedUploader: UploaderDecorator {
  package let base: any Uploader
  private let limiter: RateLimiter

  /// - Parameter limiter: shared with the other uploaders of the run.
  public init(base: any Uploader, limiter: RateLimiter) {
    self.base = base
    self.limiter = limiter
  }

  /// None: a private copy that became the object would be made at no pace.
  public var staging: (any StagingArea)? { nil }

  /// None, for the same reason.
  public var batches: (any BatchStore)? { nil }

  /// As the base's, of a source that gives its bytes at the limiter's pace and has no descriptor.
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

/// Bytes that are read at a limiter's pace.
struct LimitedBytes: SummedBytes {
  let base: any ByteSource
  let limiter: RateLimiter

  var descriptor: Int32? { nil }
  var isPrivate: Bool { base.isPrivate }
  var summedDigest: SummedDigest? { (base as? any SummedBytes)?.summedDigest }

  /// Reads at most ``RateLimiter/largestPiece`` and waits its time.
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
  /// At least 1.
  public let bytesPerSecond: Int64

  /// Reads a number, a unit and `/s`. `K`, `M`, `G` and `T` stand for thousands, with `B` or without; `Ki`, `Mi`,
  /// `Gi` and `Ti` for 1024s (IEC 80000-13). Upper and lower case are the same, but for `b`: bits are not bytes, so
  /// `10Mb/s` is nil, as is everything else that is not a rate of at least a byte a second.
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
    // What stands before the B; a small b is a bit.
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
