import ReelCore
import ReelTestSupport
import Testing

@testable import ReelTerminal

@Suite struct HarmlessTextTests {
  @Test(arguments: [
    ("clip.mov", "clip.mov"),
    ("Größe ä日本語.mp4", "Größe ä日本語.mp4"),
    ("a\nb\r\tc", #"a\nb\r\tc"#),
    ("\u{1B}[31mred\u{7}\u{0}", #"\x1b[31mred\x07\x00"#),
    ("\u{7F}", #"\x7f"#),
    ("\u{9B}31m\u{85}", #"\u{9b}31m\u{85}"#),
    ("gpj.\u{202E}4pm", #"gpj.\u{202e}4pm"#),
    ("\u{2066}a\u{2069}\u{61C}\u{200F}", #"\u{2066}a\u{2069}\u{61c}\u{200f}"#),
    ("a\u{2028}b\u{2029}", #"a\u{2028}b\u{2029}"#),
    ("pay\u{200B}pal\u{2060}\u{FEFF}\u{AD}", #"pay\u{200b}pal\u{2060}\u{feff}\u{ad}"#),
    ("a\u{200D}b\u{200C}c", #"a\u{200d}b\u{200c}c"#),
    ("x\u{E0041}\u{E007F}", #"x\u{e0041}\u{e007f}"#),
    ("\u{3164}\u{115F}\u{FFA0}", #"\u{3164}\u{115f}\u{ffa0}"#),
    ("\u{FFFE}\u{0378}", #"\u{fffe}\u{378}"#),
  ])
  func whatActsIsShown(text: String, shown: String) {
    #expect(SanitizedText.terminal(text) == shown)
  }

  @Test(arguments: [
    "👨‍👩‍👧", "❤️‍🔥", "👩🏽‍🚀", "1️⃣", "☺︎", "🇩🇪", "می‌خواهم", "क्‍ष", "葛󠄀",
    "e\u{301}", "ế", "Z\u{30C}\u{323}",
  ])
  func whatLanguagesNeedStays(text: String) {
    #expect(SanitizedText.line(text) == text)
  }

  /// A long name is broken anywhere, and any word may begin a line.
  @Test(arguments: 1...60) func noLineOfAWrappedTextIsACommand(columns: Int) {
    let traits = TerminalTraits(isTerminal: false, columns: columns)
    for name in [
      "/srv/a::error::b.mp4", "a ::error::b.mp4", "a \u{A0}::error::b.mp4", "::::::::::::", ": : ::",
    ] {
      for line in traits.lines(["failed: \(name) is a text file, not a video"]) {
        #expect(!line.drop(while: \.isWhitespace).hasPrefix("::"))
        #expect(DisplayWidth.columns(of: line) <= columns)
      }
    }
  }

  @Test func aMarkAtTheBeginningDoesNotSitOnOurText() {
    #expect(SanitizedText.terminal("\u{301}a") == #"\u{301}a"#)
    #expect(SanitizedText.terminal("\n\u{301}a") == #"\n\u{301}a"#)
  }

  @Test func aTowerOfMarksIsCutDown() {
    let tower = "a" + String(repeating: "\u{301}", count: 6)
    #expect(SanitizedText.terminal(tower) == "a\u{301}\u{301}\u{301}\u{301}" + #"\u{301}\u{301}"#)
  }

  @Test func asciiOnlyShowsNothingElse() {
    #expect(SanitizedText.line("é日👍", asciiOnly: true) == #"\u{e9}\u{65e5}\u{1f44d}"#)
  }

  @Test(arguments: [
    ("##[set-env name=x]y", #"#\x23[set-env name=x]y"#),
    ("###[error]", #"#\x23\x23[error]"#),
    ("x ##vso[task.setvariable]", #"x #\x23vso[task.setvariable]"#),
    ("::error::boo", #":\x3aerror::boo"#), (" \u{3000}::x", #" \#u{3000}:\x3ax"#), (":::x", #":\x3a:x"#),
    ("at http://[::1]:9000: refused", "at http://[::1]:9000: refused"), ("a::b", "a::b"),
    ("a # b: c", "a # b: c"),
    ("#\u{200B}#[x]", #"#\u{200b}#[x]"#),
  ])
  func commandsToRunnersAreBroken(text: String, shown: String) {
    #expect(SanitizedText.line(text) == shown)
  }

  @Test func whatIsShownIsHarmlessWhateverItWas() {
    for seed in 0..<2000 as Range<UInt64> {
      var random = SplitMix64(seed: seed)
      let text = HostileText.draw(&random)
      let shown = SanitizedText.line(text)
      #expect(HostileText.problem(in: shown) == nil, "seed \(seed)")
      #expect(SanitizedText.line(shown) == shown, "seed \(seed): shown twice it changes")
      let ascii = SanitizedText.line(text, asciiOnly: true)
      #expect(ascii.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "seed \(seed)")
    }
  }
}
