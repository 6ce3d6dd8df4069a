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
}
