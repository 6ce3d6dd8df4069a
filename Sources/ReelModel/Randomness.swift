/// A source of random bytes. Names must not be guessable: the system's generator in production, a seeded one
/// in tests.
public protocol Randomness: Sendable {
  /// A number drawn uniformly from `0 ..< bound`. `bound` is above 0.
  func number(below bound: UInt64) -> UInt64
}

/// The system's cryptographically secure generator (`getrandom`).
public struct SystemRandomness: Randomness {
  /// The generator has no state of its own; every value is the same one.
  public init() {}

  /// Drawn from `SystemRandomNumberGenerator`, without modulo bias. `bound` must be above 0.
  public func number(below bound: UInt64) -> UInt64 {
    UInt64.random(in: 0..<bound)
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
