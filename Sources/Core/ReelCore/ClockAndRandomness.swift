import FoundationEssentials
import Glibc
import Synchronization

/// The time of day, for what is written down (posts, leases). A test sets its own.
public protocol WallClock: Sendable {
  /// The time of day now.
  func now() -> Date
}

/// The machine's clock.
public struct SystemWallClock: WallClock {
  /// The clock has no settings.
  public init() {}

  /// The system's time; it may jump when somebody sets it.
  public func now() -> Date { Date() }
}

/// A source of random bytes. Names must not be guessable: the system's generator in production, a seeded one
/// in tests.
public protocol Randomness: Sendable {
  /// A number drawn uniformly from `0 ..< bound`. `bound` is above 0.
  func number(below bound: UInt64) -> UInt64
}

/// The system's cryptographically secure generator (`getentropy`), asked for 256 bytes at a time: ten names.
public struct SystemRandomness: Randomness {
  private let entropy = Entropy()

  /// Draws nothing yet.
  public init() {}

  /// Drawn without modulo bias. `bound` must be above 0.
  public func number(below bound: UInt64) -> UInt64 {
    guard bound <= 256 else {
      var words = entropy
      return UInt64.random(in: 0..<bound, using: &words)
    }
    // A byte for each character of a name. Those above the last multiple of `bound` would favour small numbers.
    let end = 256 - 256 % bound
    while true {
      let byte = UInt64(entropy.byte())
      if byte < end { return byte % bound }
    }
  }
}

/// Random bytes that nobody has seen yet; each is given out once.
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
          // Only kernels without getrandom(2) say so; Swift's generator knows what to do there.
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
  /// `count` random bytes.
  public func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: number(below: 256)) }
  }

  /// `length` characters of base 62 (0-9, A-Z, a-z), each drawn uniformly; 22 of them are 131 bits.
  public func name(length: Int) -> String {
    let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    return String(decoding: (0..<length).map { _ in alphabet[Int(number(below: 62))] }, as: UTF8.self)
  }
}
