import ReelModel

/// SplitMix64: the same numbers for the same seed. Tests print the seed of what failed.
struct SeededRandomness: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

  mutating func maybe<Value>(_ value: Value) -> Value? { chance(50) ? value : nil }
}

/// Always the same numbers, for the values that ask for a source of randomness.
struct FixedRandomness: Randomness {
  func number(below bound: UInt64) -> UInt64 { 7 % bound }
}
