import ReelTerminal
import Testing

@Suite struct CommandHintTests {
  @Test func withoutALibraryItIsTheBareCommand() {
    #expect(CommandHint().text("feed") == "reel feed")
    #expect(CommandHint().text("feed", "--before 9") == "reel feed --before 9")
  }

  @Test func aWrapperIsNamedAsItWasCalled() {
    #expect(CommandHint(program: "scripts/reel").text("feed") == "scripts/reel feed")
    #expect(CommandHint(config: "my settings.yaml").text("feed") == "reel feed --config 'my settings.yaml'")
  }

  @Test(arguments: [
    ("lib", "lib"), ("/srv/my lib", "'/srv/my lib'"), ("it's", #"'it'\''s'"#), ("-lib", "./-lib"),
    ("a\u{1B}[31m", #"$'a\x1b\x5b31m'"#), ("$(rm x)", "'$(rm x)'"),
  ])
  func aNamedLibraryIsNamedAgain(library: String, word: String) {
    #expect(
      CommandHint(library: library).text("feed", "--before 9") == "reel feed --library \(word) --before 9")
  }

  @Test(arguments: [
    (
      "To put it back: reel restore --library lib 17 --from FILE, with the file that it was made from.",
      [
        "To put it back:", "reel restore --library lib 17 --from FILE,", "with the file that it was made",
        "from.",
      ]
    ),
    (
      "there is no item x in the queue; `reel queue list --library /srv/lib` lists them",
      [
        "there is no item x in the", "queue;", "`reel queue list --library /srv/lib`", "lists them",
      ]
    ),
    (
      "No posts in lib. To add some: scripts/reel ingest --library lib FOLDER",
      [
        "No posts in lib. To add some:", "scripts/reel ingest --library lib FOLDER",
      ]
    ),
    ("Reel makes a showreel of each reel", ["Reel makes a showreel of each", "reel"]),
  ])
  func noNewlineIsPutIntoACommand(sentence: String, lines: [String]) {
    #expect(TerminalTraits(isTerminal: true, columns: 30).lines([sentence]) == lines)
  }

  @Test func anIdentifierThatFitsOnALineIsWhole() throws {
    let narrow = TerminalTraits(isTerminal: true, columns: 40)
    let text = PostSummary.text(try Samples.post(), title: .published, narrow)
    #expect(text.contains("\n  018f33a3-02fa-7707-8707-070707070707\n"), "\(text)")
  }
}
