import FoundationEssentials
import Glibc
import Synchronization

/// The time of day, for what is recorded (posts, leases). Tests supply their own clock.
public protocol WallClock: Sendable {
  /// Returns the current time.
  func now() -> Date
}

/// The machine's clock.
public struct SystemWallClock: WallClock {
  /// Creates the clock, which has no settings.
  public init() {}

  /// The system's time, which may jump when it is set.
  public func now() -> Date { Date() }
}

/// A source of random numbers. Names must not be guessable: production uses the system's generator, tests use a
/// seeded one.
public protocol Randomness: Sendable {
  /// Draws a number uniformly from `0 ..< bound`. `bound` is above 0.
  func number(below bound: UInt64) -> UInt64
}

/// The system's cryptographically secure generator (`getentropy`), read 256 bytes at a time, which is enough for
/// ten names.
public struct SystemRandomness: Randomness {
  private let entropy = Entropy()

  /// Creates the generator, without drawing anything yet.
  public init() {}

  /// Draws a number without modulo bias. `bound` must be above 0.
  public func number(below bound: UInt64) -> UInt64 {
    guard bound <= 256 else {
      var words = entropy
      return UInt64.random(in: 0..<bound, using: &words)
    }
    // One byte is enough for each character of a name. Bytes at or above the last multiple of `bound` are rejected,
    // as they would favor small numbers.
    let end = 256 - 256 % bound
    while true {
      let byte = UInt64(entropy.byte())
      if byte < end { return byte % bound }
    }
  }
}

/// A buffer of unused random bytes, each of which is handed out once.
private struct Entropy: RandomNumberGenerator {
  private final class Buffer: Sendable {
    let unused = Mutex<[UInt8]>([])
  }
  private let buffer = Buffer()

  func byte() -> UInt8 {
    buffer.unused.withLock { unused in
      if unused.isEmpty {
        unused = Array(repeating: 0, count: 256)
        let isFilled = unused.withUnsafeMutableBytes { getentropy($0.baseAddress, $0.count) == 0 }
        if !isFilled {
          // This fails only on kernels without getrandom(2), which Swift's generator can handle.
          var system = SystemRandomNumberGenerator()
          unused = [system.next()]
        }
      }
      return unused.removeLast()
    }
  }

  func next() -> UInt64 {
    (0..<8).reduce(0) { word, _ in word << 8 | UInt64(byte()) }
  }
}

extension Randomness {
  /// Draws `count` random bytes.
  public func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: number(below: 256)) }
  }

  /// Draws `length` characters of base 62 (0-9, A-Z, a-z) uniformly; 22 of them are 131 bits.
  public func name(length: Int) -> String {
    let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    return String(decoding: (0..<length).map { _ in alphabet[Int(number(below: 62))] }, as: UTF8.self)
  }
}
