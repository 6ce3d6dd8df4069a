import ReelCore
import ReelIngest
import ReelTerminal
import Testing

@Suite struct EndLineTests {
  @Test func eachEndOfAFileIsALineOrAProblem() throws {
    for event in try Samples.everySortOfEvent() {
      let lines = EndLine.lines(for: event, TerminalTraits())
      let ends = event.body.isTerminal && event.body.file != nil
      #expect(lines.isEmpty == (!ends || event.body.problem != nil), "\(event.body.type)")
      if let file = event.body.file, let line = lines.first {
        #expect(line.contains(file.path.fileName ?? "-"), "\(line)")
      }
    }
  }

  @Test func whichPost() throws {
    let post = try Samples.post()
    func lines(_ body: IngestEvent.Body) -> [String] {
      EndLine.lines(for: Samples.event(body), TerminalTraits())
    }
    #expect(lines(.postPublished(Samples.file, post)) == ["published: clips/beach.mov as \(post.id)"])
    #expect(
      lines(.fileDuplicate(Samples.file, FileDuplicate(post: post))) == [
        "duplicate: clips/beach.mov of \(post.id)"
      ])
    #expect(
      lines(.fileDuplicate(Samples.file, FileDuplicate(post: nil))) == [
        "duplicate: clips/beach.mov of a file before it"
      ])
    #expect(lines(.fileFailed(Samples.file, FileFailure(code: "cancelled", message: "m"))) == [])
  }

  @Test func namesAreHarmless() {
    let file = FileReference(number: 1, path: SourcePath("a\n::error::\u{1B}[31m.mp4"))
    let line = EndLine.lines(
      for: Samples.event(.fileDuplicate(file, FileDuplicate(post: nil))), TerminalTraits())
    #expect(line == [#"duplicate: a\n::error::\x1b[31m.mp4 of a file before it"#])
  }
}
