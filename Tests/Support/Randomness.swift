import Foundation
import ReelCore
import Synchronization

/// Random numbers for tests, the same from the same seed. A test draws a seed, and prints it along with what failed.
///
/// Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014.
package struct SplitMix64: RandomNumberGenerator {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}

extension SplitMix64 {
  /// Draws this many bytes, eight at a time.
  ///
  /// Tests are built without optimization, where a closure called for each byte takes seconds for a large object; this
  /// takes milliseconds.
  package mutating func bytes(_ count: Int) -> [UInt8] {
    let words = (count + 7) / 8
    let drawn = [UInt64](unsafeUninitializedCapacity: words) { buffer, made in
      while made < words {
        buffer[made] = next()
        made += 1
      }
    }
    return drawn.withUnsafeBytes { Array($0.prefix(count)) }
  }
}

/// The seed of a test's random numbers.
package enum TestSeed {
  /// `REEL_SEED`, or a different one each time. `scripts/test` derives it from the commit's files, so that everybody
  /// who checks a commit sees the same draws; the long form sets none.
  package static func drawn(
    _ environment: [String: String] = ProcessInfo.processInfo.environment
  ) -> UInt64 {
    environment["REEL_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...(.max))
  }
}

/// Randomness that repeats itself from the same seed.
package final class SeededRandomness: Randomness {
  private let generator: Mutex<SplitMix64>

  package init(seed: UInt64) { generator = Mutex(SplitMix64(seed: seed)) }

  package func number(below bound: UInt64) -> UInt64 { generator.withLock { $0.next() } % bound }
}
