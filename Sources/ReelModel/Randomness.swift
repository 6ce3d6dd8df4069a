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
    var bytes: [UInt8] = []
    while bytes.count < count {
      // Each number is a call of the system: seven bytes of it at a time.
      let number = number(below: 1 << 56)
      for place in 0..<min(7, count - bytes.count) {
        bytes.append(UInt8(truncatingIfNeeded: number >> (8 * place)))
      }
    }
    return bytes
  }

  /// `length` characters of base 62 (0-9, A-Z, a-z), each drawn uniformly; 22 of them are 131 bits.
  public func name(length: Int) -> String {
    let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    // As many characters as a number holds.
    let perNumber = 10
    let bound = (0..<perNumber).reduce(UInt64(1)) { power, _ in power * 62 }
    var name: [UInt8] = []
    while name.count < length {
      var number = number(below: bound)
      for _ in 0..<min(perNumber, length - name.count) {
        name.append(alphabet[Int(number % 62)])
        number /= 62
      }
    }
    return String(decoding: name, as: UTF8.self)
  }
}
