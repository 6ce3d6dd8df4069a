import Testing

@testable import ReelTerminal

@Suite("errors")
struct ComplaintTests {
  private func lines(_ sentence: String, columns: Int?) -> [String] {
    TerminalTraits(isTerminal: columns != nil, columns: columns).complaint([sentence])
      .split(separator: "\n").map(String.init)
  }

  @Test("an error wraps between words on a narrow terminal, but never within a command to be copied")
  func narrow() {
    let command = "`reel lock fixtures/of/a/long/name --policy ours.yaml --force`"
    let told = lines(
      "reel: there is no lock file fixtures/reel.lock; make it with: \(command) and look", columns: 40)
    #expect(
      told == [
        "reel: there is no lock file", "fixtures/reel.lock; make it with:", command, "and look",
      ])
    #expect(
      lines("reel: say where mended files go: -o FILE for one", columns: 40).allSatisfy { $0.count <= 40 })
  }

  @Test("an error is one line in a log, and harmless there and on a terminal")
  func log() {
    let long = "reel: " + String(repeating: "word ", count: 60) + "end"
    #expect(lines(long, columns: nil) == [long])
    #expect(lines("reel: \u{1B}[31mx\n::error::", columns: nil).count == 1)
    #expect(!lines("reel: \u{1B}[31mx", columns: 40).joined().contains("\u{1B}"))
  }
}
