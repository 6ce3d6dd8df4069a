import Foundation
import ReelCore
import ReelProbe
import Testing
import ReelTestSupport

/// A fragmented file that ends early was truncated, which is not the same as damaged.
struct CutFragmentTests {
  private static let sample = Checkout.root
    .appendingPathComponent("Samples/clips/fragmented.mp4")

  @Test func aCutFragmentIsTruncated() throws {
    let bytes = Array(try Data(contentsOf: Self.sample))
    var refused = 0
    // Every cut after the index, in small steps: within a fragment's index, within its media, and between both.
    for length in stride(from: bytes.count / 5, to: bytes.count, by: 97) {
      let file = try #require(OpenFile(holding: Array(bytes.prefix(length))))
      do throws(ProbeError) {
        _ = try file.read(as: .mp4)
      } catch {
        refused += 1
        #expect(error.code == .truncated, "cut at \(length): \(error.message)")
      }
    }
    #expect(refused > 0)
  }
}
