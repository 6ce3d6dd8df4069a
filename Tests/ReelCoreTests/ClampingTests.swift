import ReelCore
import Testing

@Suite("Sums of sizes")
struct ClampingTests {
  @Test(
    "a sum that there is no number for is the largest",
    arguments: [
      (1, 2, 3), (.max, 0, .max), (.max, 1, .max), (.max, .max, .max), (.min, -1, .min), (-5, 5, 0),
    ] as [(Int64, Int64, Int64)])
  func clamped(first: Int64, second: Int64, sum: Int64) {
    #expect(first.addingClamped(second) == sum)
  }
}
