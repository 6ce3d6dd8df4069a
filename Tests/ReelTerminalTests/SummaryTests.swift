import FoundationEssentials
import ReelCore
import ReelIngest
import ReelLibrary
import ReelTerminal
import Testing

@Suite struct SummaryTests {
  private let log = TerminalTraits()

  private func lines(_ text: String) -> [String] { text.split(separator: "\n").map(String.init) }

  @Test func sentencesBreakBetweenWords() {
    let mended = MendDocument(
      path: SourcePath("clips/a.mp4"),
      result: .success(.init(done: [.faststart, .location], file: SourcePath("out/a.mp4"))))
    #expect(
      lines(mended.text(TerminalTraits(isTerminal: true, columns: 40))) == [
        "clips/a.mp4: out/a.mp4: index first,", "location removed",
      ])
    #expect(mended.text(log) == "clips/a.mp4: out/a.mp4: index first, location removed\n")
    #expect(TerminalTraits(columns: 10).text(["a\nb", "0123 56789 1"]) == "a\\nb\n0123 56789\n1\n")
  }

  @Test func aPost() throws {
    #expect(
      lines(PostSummary.text(try Samples.post(), title: .published, log)) == [
        "published",
        "id       018f33a3-02fa-7707-8707-070707070707",
        "caption  At the beach",
        "music    Waves",
        "author   Ann (u1)",
        "video    mov, 1080×1920, 12.5 s, 1.2 MB",
        "url      file:///srv/media/7777777777777777777777.mov",
        "number   12 in the feed",
        "posted   2024-05-01 10:11:12 UTC",
        "likes    0",
        "shares   0",
        "comment  c1",
        "digest   sha256:abababababababababababababababababababababababababababababababab",
        "read by  libavformat 59.27.100, header, isolation landlock+seccomp",
      ])
  }

  @Test func aPostThatIsThereAlready() throws {
    let text = PostSummary.text(try Samples.post(), title: .duplicate, log)
    #expect(lines(text)[0] == "nothing new: this video is already published")
  }

  @Test func aFile() {
    let document = ProbedFile(path: SourcePath("clips/beach.mp4"), result: .success(Samples.report))
    #expect(
      lines(ProbeSummary.text(document, log)) == [
        "clips/beach.mp4",
        "  container  mov (video/quicktime), index first, 4.5 Mb/s",
        "  size       1.2 MB",
        "  duration   12.5 s (by the container)",
        "  picture    1080×1920, stored as 1920×1080, rotated 90 degrees clockwise",
        "  video      h264 High, 29.97 frames/s, 4.2 Mb/s",
        "  colour     yuv420p, 4:2:0, 8 bit, HDR PQ",
        "  audio      aac, 2 channels, 48 kHz",
        "  recorded   2024-05-01 10:11:12 UTC",
        "  location   it says where it was recorded",
        "  warning    its name says .mp4, but it is mov",
        "  read by    libavformat 59.27.100, header, isolation landlock+seccomp",
      ])
  }

  @Test func aFileOfWhichLittleIsKnown() {
    var media = MediaInfo(container: .webm, size: 17)
    media.truncated = true
    let report = ProbeReport(media: media, provenance: Samples.provenance)
    #expect(
      lines(ProbeSummary.text(ProbedFile(path: SourcePath("a.webm"), result: .success(report)), log)) == [
        "a.webm",
        "  container  webm (video/webm)",
        "  size       17 B",
        "  duration   unknown",
        "  picture    none: it has no video stream",
        "  truncated  yes: it was cut off, part of its data is missing",
        "  read by    libavformat 59.27.100, header, isolation landlock+seccomp",
      ])
  }

  @Test func aFileThatCannotBeRead() {
    let failure = FileFailure(code: "playlist", message: "it is an HLS playlist, not a video")
    let document = ProbedFile(path: SourcePath("notes.mp4"), result: .failure(failure))
    #expect(
      ProbeSummary.text(document, log) == "failed: notes.mp4 is an HLS playlist, not a video [playlist]\n")
  }

  @Test func aPlan() {
    let plan = FilePlanned(media: Samples.media, metadata: PostMetadata(caption: "Beach"))
    #expect(
      lines(PlanSummary.text(plan, of: SourcePath("a.mov"), log)).prefix(3) == [
        "dry run, nothing was written: a.mov would be published", "  caption    Beach",
        "  container  mov (video/quicktime), index first, 4.5 Mb/s",
      ])
  }

  @Test func theCatalog() {
    let status = CatalogStatus(
      posts: 12, bytes: 345_200_000, destinations: [(Destination("file:///srv/media"), 12)], unfinished: 1,
      failures: [
        (
          SourcePath("notes\n.mp4"),
          FailureRecord(code: "empty", message: "it is empty", refused: false, at: Samples.moment)
        )
      ], failureCount: 3, schemaVersion: 1)
    #expect(
      lines(StatusView(status, library: "/home/ann/reel").text(log)) == [
        "library        /home/ann/reel",
        "posts          12, 345 MB",
        "stored in      file:///srv/media: 12 posts",
        "unfinished     1; the next run continues with them",
        "not published  3 files, the newest first:",
        #"failed: notes\n.mp4 is empty [empty]"#,
        "and 2 more: --json lists up to 1000",
      ])
  }

  @Test func anEmptyCatalog() {
    let status = CatalogStatus(
      posts: 0, bytes: 0, destinations: [], unfinished: 0, failures: [], failureCount: 0, schemaVersion: 1)
    #expect(
      lines(StatusView(status, library: "/l").text(log)) == [
        "library        /l", "posts          0, 0 B", "not published  no file",
      ])
  }

  @Test func versions() throws {
    let view = VersionView(
      reel: "0.1.0", commit: "5aefb46f", worker: nil, isolation: nil, ffmpeg: nil,
      sqlite: SQLiteLibrary(number: 3_040_001),
      workerProblem: "reel-probe-worker is missing")
    #expect(
      lines(view.text(log)) == [
        "reel               0.1.0", "reel-probe-worker  reel-probe-worker is missing",
        "libavformat        unknown",
        "SQLite             3.40.1, which has the WAL-reset bug; Reel avoids it by making checkpoints only while nothing else can commit",
      ])
    #expect(
      try view.json()
        == #"{"commit":"5aefb46f","ffmpeg":null,"isolation":null,"reel":"0.1.0","sqlite":"3.40.1","#
        + #""walResetBug":"affected","worker":null,"#
        + #""workerProblem":"reel-probe-worker is missing"}"# + "\n")
  }

  @Test(
    "the summary names what the worker's confinement lacks",
    arguments: [
      (IsolationLevel.full, "landlock+seccomp"), (.strict, "landlock+seccomp+fresh"),
      (.seccomp, "seccomp, without Landlock"), (.landlock, "landlock, without seccomp"),
      (.limits, "resource limits, without Landlock and seccomp"), (.none, "none: files are read unconfined"),
    ])
  func confinement(_ level: IsolationLevel, _ words: String) {
    let sqlite = SQLiteLibrary(number: 3_053_000)
    let view = VersionView(reel: "1", worker: "1", isolation: level, ffmpeg: "59", sqlite: sqlite)
    #expect(lines(view.text(log)).contains("SQLite             3.53.0, without the WAL-reset bug"))
    #expect(lines(view.text(log)).contains("isolation          \(words)"))
  }

  @Test func theCache() throws {
    let status = CacheStatus(files: 1, readings: 2, bytes: 12_345)
    #expect(
      CacheView(status).text(log) == "the cache takes 12.3 kB: the digests of 1 file and 2 probe results\n")
    #expect(
      CacheView(status, cleared: true).text(log)
        == "freed 12.3 kB: the digests of 1 file and 2 probe results are forgotten; posts stay\n")
    #expect(
      try CacheView(status, cleared: true).json()
        == #"{"bytes":12345,"cleared":true,"files":1,"readings":2}"# + "\n")
  }
}
