import ReelCore
import ReelTestSupport

extension SplitMix64 {
  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

  mutating func maybe<Value>(_ value: Value) -> Value? { chance(50) ? value : nil }
}

/// Always the same numbers, for the values that ask for a source of randomness.
struct FixedRandomness: Randomness {
  func number(below bound: UInt64) -> UInt64 { 7 % bound }
}
