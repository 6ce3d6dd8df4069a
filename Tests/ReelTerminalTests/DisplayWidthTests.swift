import ReelCore
import ReelTerminal
import ReelTestSupport
import Testing

@Suite struct DisplayWidthTests {
  @Test(arguments: [
    ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("日本", 4), ("ｱ", 1), ("Ａ", 2), ("한국", 4),
    ("\u{1112}\u{1161}\u{11AB}", 2),
    ("👍", 2), ("👍🏽", 2), ("👨‍👩‍👧", 2), ("🇩🇪", 2), ("❤️", 2), ("❤", 1), ("1️⃣", 2), ("☺︎", 1), ("का", 2), ("…", 1),
    ("×", 1),
    ("\u{200B}", 0), ("\u{1B}", 0), ("𠀀", 2), ("䷀", 2), ("𝌆", 2), ("〈", 2), ("ℝ", 1), ("Привет", 6),
    ("שלום", 4), ("ไทย", 3),
    ("ที่", 1), ("゛", 2), ("が", 2), ("ka\u{3099}", 2), ("🫩", 2), ("⌚", 2), ("☀", 1), ("☰", 2), ("⚊", 2),
  ])
  func columns(text: String, columns: Int) {
    #expect(DisplayWidth.columns(of: text) == columns)
  }

  @Test(arguments: [
    ("clip.mov", 8, "clip.mov"),
    ("holiday.mov", 8, "holi…mov"),
    ("holiday.mov", 2, "ho"),
    ("holiday.mov", 3, "h…v"),
    ("holiday.mov", 1, "h"),
    ("holiday.mov", 0, ""),
    ("日本語日本語.mp4", 10, "日本….mp4"),
    ("日本語日本語.mp4", 9, "日本….mp4"),
    ("👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧", 5, "👨‍👩‍👧…👨‍👩‍👧"),
    ("e\u{301}e\u{301}e\u{301}e\u{301}", 3, "e\u{301}…e\u{301}"),
  ])
  func cutInTheMiddle(text: String, columns: Int, cut: String) {
    #expect(DisplayWidth.cuttingMiddle(text, to: columns) == cut)
  }

  @Test func theAsciiMarkTakesThree() {
    #expect(DisplayWidth.cuttingMiddle("holiday.mov", to: 8, mark: "...") == "hol...ov")
    #expect(DisplayWidth.cuttingEnd("holiday.mov", to: 8, mark: "...") == "holid...")
  }

  @Test func whatIsCutFitsAndHoldsWholeCharacters() {
    for seed in 0..<1000 as Range<UInt64> {
      var random = SplitMix64(seed: seed)
      let text = SanitizedText.line(HostileText.draw(&random))
      let room = Int.random(in: 0...30, using: &random)
      for cut in [DisplayWidth.cuttingMiddle(text, to: room), DisplayWidth.cuttingEnd(text, to: room)] {
        #expect(DisplayWidth.columns(of: cut) <= room, "seed \(seed)")
        let parts = cut.split(separator: "…", maxSplits: 1, omittingEmptySubsequences: false)
        if !text.contains("…") {
          #expect(Array(text).starts(with: Array(parts[0])), "seed \(seed)")
          if parts.count == 2 {
            #expect(Array(text.reversed()).starts(with: Array(parts[1].reversed())), "seed \(seed)")
          }
        }
      }
      #expect(
        DisplayWidth.columns(of: DisplayWidth.padded(text, to: 200))
          == max(200, DisplayWidth.columns(of: text)))
    }
  }
}
