import Foundation
import ReelTestSupport
import Testing

/// Syntax from before 0.3.
@Suite("Former syntax of the command line", .shortTime)
struct FormerWordsTests {
  struct Word: Sendable, CustomTestStringConvertible {
    let former: [String]
    let now: [String]
    /// The new syntax as the warning states it.
    let says: String
    /// The file that both write.
    var writes: String?

    var testDescription: String { former.joined(separator: " ") }
  }

  static let words = [
    Word(former: ["export", "-"], now: ["export", "-o", "-"], says: "-o -"),
    Word(
      former: ["export", "posts.csv"], now: ["export", "-o", "posts.csv"], says: "-o posts.csv",
      writes: "posts.csv"),
    Word(
      former: ["backup", "b.sqlite"], now: ["backup", "-o", "b.sqlite"], says: "-o b.sqlite",
      writes: "b.sqlite"),
    Word(
      former: ["page", "a site"], now: ["page", "-o", "a site"], says: "-o 'a site'",
      writes: "a site/index.html"),
    Word(
      former: ["lock", "clips", "--to", "l.lock"], now: ["lock", "clips", "-o", "l.lock"], says: "-o l.lock",
      writes: "l.lock"),
    Word(
      former: ["lock", "clips", "--update"], now: ["lock", "clips", "--force"], says: "--force",
      writes: "clips/reel.lock"),
    Word(
      former: ["mend", "clips/a.mp4", "--faststart", "--to", "out"],
      now: ["mend", "clips/a.mp4", "--faststart", "-o", "out/"], says: "-o out/", writes: "out/a.mp4"),
    Word(
      former: ["mend", "clips", "--faststart", "--to", "o d/"],
      now: ["mend", "clips", "--faststart", "-o", "o d/"],
      says: "-o 'o d/'", writes: "o d/a.mp4"),
    Word(
      former: ["poster", "clips/a.mp4", "-o", "x/", "--overwrite"],
      now: ["poster", "clips/a.mp4", "-o", "x/", "--force"],
      says: "--force", writes: "x/a.jpg"),
    Word(
      former: ["sheet", "clips/a.mp4", "-o", "x.jpg", "--overwrite"],
      now: ["sheet", "clips/a.mp4", "-o", "x.jpg", "--force"], says: "--force", writes: "x.jpg"),
  ]

  @Test(
    "the former syntax is accepted with a one-line hint, and the new one without", arguments: words)
  func taken(word: Word) async throws {
    let bench = try await Self.library()
    let former = try await Self.reel(word.former, in: bench)
    #expect(former.status == 0, "\(former)")
    let lines = former.errors.split(separator: "\n").filter { $0.hasPrefix("reel: ") }
    #expect(
      lines.count == 1 && lines[0].hasSuffix("\"\(word.says)\" now; the next version takes only that"),
      "\(former)")
    let place = word.writes.map { bench.folder.appendingPathComponent($0) }
    let written = try place.map { try Data(contentsOf: $0).count }
    if let place { try FileManager.default.removeItem(at: place) }
    let now = try await Self.reel(word.now, in: bench)
    #expect(now.status == 0 && !now.errors.contains("reel: "), "\(now)")
    #expect(try place.map { try Data(contentsOf: $0).count } == written)
    let help = try await ReelBinary.run([word.former[0], "--help"], in: bench.folder).output
    let flags = Set(word.former).subtracting(word.now).filter { $0.hasPrefix("--") }
    #expect(!flags.contains(where: help.contains), "\(help)")
  }

  @Test("a file that is replaced without --force causes a warning")
  func replaced() async throws {
    let bench = try await Self.library()
    for (words, file) in [
      (["export", "-o", "posts.csv"], "posts.csv"), (["poster", "clips/a.mp4", "-o", "p.jpg"], "p.jpg"),
      (["sheet", "clips/a.mp4", "-o", "s.jpg"], "s.jpg"),
    ] {
      let first = try await Self.reel(words, in: bench)
      #expect(first.status == 0 && !first.errors.contains("--force"), "\(first)")
      let again = try await Self.reel(words, in: bench)
      #expect(again.status == 0, "\(again)")
      let warning =
        "reel: \(file) was there already, and is replaced; from the next version of Reel on, only --force replaces it\n"
      #expect(again.errors.ranges(of: warning).count == 1, "\(again)")
      let forced = try await Self.reel(words + ["--force"], in: bench)
      #expect(forced.status == 0 && !forced.errors.contains("--force"), "\(forced)")
    }
  }

  @Test(
    "using both forms at once, or neither, is an error",
    arguments: [
      ["export", "a.csv", "-o", "b.csv"], ["backup", "a", "-o", "b"], ["page", "a", "-o", "b"],
      ["lock", "clips", "--to", "a", "-o", "b"], ["mend", "clips", "--faststart", "--to", "a", "-o", "b/"],
      ["export"], ["backup"], ["page"],
    ])
  func both(words: [String]) async throws {
    let bench = try await Self.library()
    let run = try await Self.reel(words, in: bench)
    #expect(run.status == 64, "\(run)")
  }

  private static func reel(_ words: [String], in bench: Workbench) async throws -> ReelBinary.Outcome {
    let hasLibrary = ["export", "backup", "page", "poster"].contains(words[0])
    return try await ReelBinary.run(
      words + (hasLibrary ? ["--library", bench.library.path] : []), in: bench.folder)
  }

  private static func library() async throws -> Workbench {
    let bench = try Workbench()
    try bench.add("clips/moov-at-end.mp4", as: "a.mp4")
    #expect(try await bench.reel("ingest", "clips").status == 0)
    return bench
  }
}
