import Testing

@testable import ReelTerminal

@Suite struct TerminalTraitsTests {
  private static let xterm = ["TERM": "xterm-256color", "LANG": "en_US.UTF-8"]

  private func traits(
    _ more: [String: String], isTerminal: Bool = true, columns: Int? = nil
  ) -> TerminalTraits {
    TerminalTraits(
      isTerminal: isTerminal, columns: columns, environment: Self.xterm.merging(more) { $1 })
  }

  @Test("a truncated line ends with the mark, even if one of its parts ends there")
  func cutLines() {
    let line = StyledLine("abc") + StyledLine("def", .dim) + "ghi"
    let shown = (1...9).map { line.cut(to: $0, mark: "…").text(TerminalTraits()) }
    #expect(shown == ["a", "a…", "ab…", "abc…", "abcd…", "abcde…", "abcdef…", "abcdefg…", "abcdefghi"])
  }

  @Test func aTerminalDrawsWithColour() {
    let traits = traits([:], columns: 132)
    #expect(
      traits == TerminalTraits(isTerminal: true, columns: 132, colour: true, unicode: true, canRedraw: true))
  }

  @Test func aPipeHasNoWidthAndNoColour() {
    #expect(traits([:], isTerminal: false) == TerminalTraits())
  }

  @Test(arguments: [
    (["NO_COLOR": "1"], true, false), (["NO_COLOR": ""], true, true), (["TERM": "dumb"], true, false),
    (["CLICOLOR": "0"], true, false), (["CLICOLOR_FORCE": "1"], false, true),
    (["CLICOLOR_FORCE": "0"], false, false),
    (["CLICOLOR_FORCE": "1", "NO_COLOR": "1"], false, false),
    (["CLICOLOR_FORCE": "1", "TERM": "dumb"], true, false),
    (["TERM": ""], true, false),
    (["REEL_COLOR": "always", "NO_COLOR": "1", "TERM": "dumb"], false, true),
    (["REEL_COLOR": "never", "CLICOLOR_FORCE": "1"], true, false), (["REEL_COLOR": "auto"], true, true),
    (["REEL_COLOR": "auto", "NO_COLOR": "1"], true, false), (["REEL_COLOR": "?"], false, false),
  ])
  func colour(environment: [String: String], isTerminal: Bool, colour: Bool) {
    #expect(traits(environment, isTerminal: isTerminal).colour == colour)
  }

  @Test(arguments: [
    (["LANG": "C"], false), (["LANG": "de_DE.utf8"], true), (["LANG": "de_DE.ISO-8859-1"], false),
    (["LC_ALL": "C", "LANG": "en_US.UTF-8"], false), (["LC_CTYPE": "C.UTF-8", "LANG": "C"], true),
    (["LC_ALL": "", "LANG": "en_US.UTF-8"], true), (["LANG": ""], true),
  ])
  func unicode(environment: [String: String], unicode: Bool) {
    #expect(traits(environment).unicode == unicode)
  }

  @Test(arguments: [
    (nil as Int?, [:], true, 80 as Int?), (nil, ["COLUMNS": "100"], true, 100),
    (60, ["COLUMNS": "100"], true, 60),
    (nil, ["COLUMNS": "x"], true, 80), (nil, ["COLUMNS": "0"], true, 80), (nil, ["COLUMNS": "50"], false, 50),
    (nil, [:], false, nil), (0, [:], true, 1),
  ])
  func columns(asked: Int?, environment: [String: String], isTerminal: Bool, columns: Int?) {
    #expect(traits(environment, isTerminal: isTerminal, columns: asked).columns == columns)
  }

  @Test(arguments: [
    (ProgressStyle.auto, true, false, ProgressStyle.bar), (.auto, false, false, .plain),
    (.auto, true, true, .none),
    (.bar, false, false, .plain), (.bar, true, true, .bar), (.plain, true, true, .plain),
    (.none, true, false, .none),
  ])
  func progress(style: ProgressStyle, canRedraw: Bool, quiet: Bool, resolved: ProgressStyle) {
    #expect(style.resolved(for: TerminalTraits(canRedraw: canRedraw), quiet: quiet) == resolved)
  }

  @Test(arguments: [
    ([:], ProgressStyle.bar), (["CI": "true"], .plain), (["CI": "1"], .plain), (["CI": "false"], .bar),
    (["CI": ""], .bar),
  ])
  func aRunnerThatKeepsItsTerminalAsALogGetsLines(environment: [String: String], style: ProgressStyle) {
    let traits = traits(environment)
    #expect(ProgressStyle.auto.resolved(for: traits, quiet: false) == style)
    // Bars that were asked for are used.
    #expect(ProgressStyle.bar.resolved(for: traits, quiet: false) == .bar)
  }

  @Test func aDumbTerminalCannotRedraw() {
    #expect(!traits(["TERM": "dumb"]).canRedraw)
    #expect(!TerminalTraits(isTerminal: true, columns: 80, environment: [:]).canRedraw)
  }

  @Test func aLineThatIsDrawnInPlaceDoesNotWrap() {
    let line = "uploading: 100 of 1000 files, 12.3 MB sent"
    #expect(TerminalTraits(columns: 80).redrawn(line) == line)
    #expect(TerminalTraits(columns: 40).redrawn(line) == "uploading: 100 of 1000 files, 12.3 MB …")
    #expect(
      TerminalTraits(columns: 40, unicode: false).redrawn(line) == "uploading: 100 of 1000 files, 12.3 M...")
  }

  @Test func aFileIsNoTerminal() {
    #expect(TerminalTraits.of(descriptor: -1, environment: Self.xterm) == TerminalTraits())
  }
}
