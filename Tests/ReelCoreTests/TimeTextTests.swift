import FoundationEssentials
import ReelCore
import Testing

@Suite("times as people write them")
struct TimeTextTests {
  @Test(
    arguments: [
      ("30s", 30), ("5m", 300), ("1h", 3600), ("7d", 604_800), ("2w", 1_209_600), ("90", 90), ("0.5", 0.5),
      ("1.5h", 5400), ("0", 0), ("99999999999", nil), ("1h30m", nil), ("5 m", nil), ("M", nil), (".5", nil),
      ("soon", nil), ("1x", nil), ("s", nil), ("-1", nil), ("1e3", nil), ("nan", nil), ("1..2s", nil),
      ("", nil),
    ] as [(String, Double?)])
  func howLong(text: String, seconds: Double?) {
    #expect(TimeText.seconds(text) == seconds)
  }

  @Test(
    arguments: [
      ("2026-11-22", 1_795_305_600), ("2026-11-22T10:00:00Z", 1_795_341_600), ("2024-02-29", 1_709_164_800),
      ("2026-02-29", nil), ("2026-02-30T10:00:00Z", nil), ("2026-11-22T25:70:00Z", nil), ("2026-13-01", nil),
      ("2026-11-22T10:61:00Z", nil), ("yesterday", nil), ("", nil),
    ] as [(String, Double?)])
  func when(text: String, seconds: Double?) {
    #expect(ISOTime.dayOrTime(text)?.timeIntervalSince1970 == seconds)
  }
}
