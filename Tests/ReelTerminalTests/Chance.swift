import ReelCore
import ReelTestSupport

extension SplitMix64 {
  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

  mutating func maybe<Value>(_ value: Value) -> Value? { chance(50) ? value : nil }
}

/// A source of randomness that always returns the same numbers.
struct FixedRandomness: Randomness {
  func number(below bound: UInt64) -> UInt64 { 7 % bound }
}
