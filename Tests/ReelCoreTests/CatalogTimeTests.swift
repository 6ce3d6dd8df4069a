import Foundation
import ReelCore
import Testing

@Suite("times in a catalog")
struct CatalogTimeTests {
  @Test(
    "a time is read as it was written, even where a Double is less exact",
    arguments: [0, 1_763_000_000_000, 2_147_483_648_000, 2_177_000_000_000, 4_102_444_800_000] as [Int64])
  func whole(_ first: Int64) {
    for moment in first..<first + 1000 {
      #expect(Date(milliseconds: moment).milliseconds == moment)
    }
  }

  @Test("fractions of a millisecond are dropped")
  func rounded() {
    #expect(Date(timeIntervalSince1970: 1_763_000_000.1239).milliseconds == 1_763_000_000_123)
    #expect(Date(timeIntervalSince1970: -0.0015).milliseconds == -2)
  }
}
