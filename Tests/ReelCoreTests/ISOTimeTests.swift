import FoundationEssentials
import ReelCore
import ReelTestSupport
import Testing

@Suite struct ISOTimeTests {
  /// Foundation's format style writes and reads the same texts.
  @Test func textsAreFoundations() throws {
    let seed = TestSeed.drawn()
    let (first, last) = (ISOTime.range.lowerBound, ISOTime.range.upperBound - 1)
    var random = SplitMix64(seed: seed)
    let edges = [
      first, last, -86_400.0, -1, -12_219_292_800, -12_219_292_801, 0, 951_782_399, 951_782_400,
      4_107_542_400, 1_709_164_800,
    ]
    let drawn = (0..<2000).map { _ in Double(Int64.random(in: Int64(first)...Int64(last), using: &random)) }
    let (whole, fractional) = (
      Date.ISO8601FormatStyle(), Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    )
    for seconds in edges + drawn {
      let date = Date(timeIntervalSince1970: seconds)
      let text = whole.format(date)
      #expect(ISOTime.text(date, .secondsOrMilliseconds) == text, "\(seconds), seed \(seed)")
      #expect(ISOTime.text(date, .milliseconds) == fractional.format(date), "\(seconds), seed \(seed)")
      #expect(ISOTime.minute(date) == text.prefix(16).replacing("T", with: " "))
      #expect(ISOTime.second(date) == text.dropLast().replacing("T", with: " ") + " UTC")
      #expect(ISOTime.date(text) == date)
    }
  }

  @Test(arguments: [
    (0.25, "1970-01-01T00:00:00.250Z"), (-0.25, "1969-12-31T23:59:59.750Z"),
    (0.0004, "1970-01-01T00:00:00.000Z"),
    (0.9996, "1970-01-01T00:00:01.000Z"), (-0.0004, "1970-01-01T00:00:00.000Z"),
    (.nan, "1970-01-01T00:00:00.000Z"), (-.infinity, "0001-01-03T00:00:00.000Z"),
    (.infinity, "9999-12-31T23:59:59.999Z"),
  ])
  func milliseconds(_ seconds: Double, _ text: String) {
    #expect(ISOTime.text(Date(timeIntervalSince1970: seconds), .milliseconds) == text)
  }
}
