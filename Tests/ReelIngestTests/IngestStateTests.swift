import FoundationEssentials
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelIngest

@Suite("The state is the fold of the events")
struct IngestStateTests {
  static func event(_ body: IngestEvent.Body) -> IngestEvent {
    IngestEvent(sequence: 1, at: Date(timeIntervalSince1970: 0), body: body)
  }

  static func fold(_ bodies: [IngestEvent.Body]) -> IngestState {
    bodies.reduce(IngestState()) { IngestState.reduce($0, event($1)) }
  }

  static func file(_ number: Int) -> FileReference {
    FileReference(number: number, path: SourcePath("\(number).mp4"))
  }

  @Test("a file passes through its steps and is counted once")
  func steps() {
    let file = Self.file(1)
    let half = TransferProgress(sent: 5, total: 10)
    var bodies: [IngestEvent.Body] = [
      .runStarted(RunStarted(destination: Destination("file:///m"), dryRun: false)),
      .runScanned(RunScanned(found: 1, ignored: 2, bytes: 10, complete: true)), .fileStarted(file, size: 10),
    ]
    #expect(Self.fold(bodies).inFlight == [FileInFlight(file: file, size: 10, step: .reading)])
    bodies.append(.uploadProgress(file, half))
    #expect(Self.fold(bodies).inFlight.map(\.step) == [.uploading(half)])
    bodies.append(.fileFailed(file, FileFailure(code: "corrupt", message: "m")))
    let state = Self.fold(bodies)
    #expect(state.inFlight.isEmpty)
    #expect(state.failed == 1 && state.done == 1 && state.doneBytes == 10 && state.ignored == 2)
    #expect(state.reasons == ["corrupt": 1])
    #expect(state.scanComplete && state.found == 1)
  }

  @Test("no number in an event can crash its reader")
  func extremes() throws {
    let file = Self.file(1)
    var post = try JSONDecoder().decode(
      Post.self,
      from: Data(
        #"{"id":"017f22e2-79b0-7cc3-98c4-dc0c0c07398f","video":"a.mp4","videoURL":"x","videoFileExtension":"mp4"}"#
          .utf8))
    for size in Extremes.integers {
      post.size = size
      let progress = TransferProgress(sent: size, total: size)
      let state = Self.fold([
        .runStarted(RunStarted(destination: Destination("file:///m"), dryRun: false)),
        .runScanned(RunScanned(found: Int(size), ignored: Int(size), bytes: size, complete: true)),
        .fileStarted(file, size: size), .uploadProgress(file, progress), .postPublished(file, post),
        .fileStarted(file, size: size), .postPublished(file, post), .fileStarted(file, size: size),
        .postPublished(file, post),
      ])
      #expect(state.published == 3)
    }
  }

  @Test("every terminal event counts as one file, whatever came before")
  func random() {
    let seed = TestSeed.drawn()
    var generator = SplitMix64(seed: seed)
    for _ in 0..<200 {
      var bodies: [IngestEvent.Body] = []
      let count = Int.random(in: 0..<30, using: &generator)
      for number in 0..<count {
        let file = Self.file(number)
        bodies.append(.fileStarted(file, size: nil))
        for sent in 0..<Int.random(in: 0..<4, using: &generator) {
          bodies.append(.uploadProgress(file, TransferProgress(sent: Int64(sent), total: 9)))
        }
        bodies.append(
          [
            .fileFailed(file, FileFailure(code: "x", message: "")),
            .fileRefused(file, FileRefused(code: .policy, violations: [])),
            .fileDuplicate(file, FileDuplicate(post: nil)),
          ][Int.random(in: 0..<3, using: &generator)])
      }
      let state = Self.fold(bodies)
      #expect(state.done == count && state.inFlight.isEmpty, "seed \(seed)")
      #expect(state.reasons.values.reduce(0, +) == state.failed + state.refused, "seed \(seed)")
    }
  }
}

@Suite("Events as JSON")
struct IngestEventCodingTests {
  static let everyBody: [IngestEvent.Body] = {
    let file = FileReference(number: 3, path: SourcePath(bytes: [0x61, 0xFF, 0x2E, 0x6D]))
    let provenance = ProbeProvenance(method: .full, isolation: .limits, ffmpeg: "59.27.100")
    let report = ProbeReport(media: MediaInfo(container: .mp4, size: 5), provenance: provenance)
    let broken = UploadError(.unavailable, "busy", retryAfter: 2)
    var bodies: [IngestEvent.Body] = [
      .runStarted(RunStarted(destination: Destination("file:///m"), dryRun: true)),
      .runScanned(RunScanned(found: 1, ignored: 2, bytes: 3, complete: true)), .fileStarted(file, size: 5),
      .fileProbed(file, report), .uploadProgress(file, TransferProgress(sent: 1, total: 5)),
      .uploadRetrying(file, TransferProgress(sent: 0, total: 5, attempt: 2, retrying: broken)),
      .fileDuplicate(file, FileDuplicate(post: nil)),
      .filePlanned(file, FilePlanned(media: report.media, metadata: PostMetadata(caption: "c"))),
      .fileRefused(
        file, FileRefused(code: .policy, violations: [PolicyViolation(rule: "video.none", message: "no")])),
      .fileFailed(file, FileFailure(code: "corrupt", message: "broken")),
      .runFinished(RunSummary(outcome: .aborted, error: FileFailure(code: "workerMissing", message: "m"))),
    ]
    if let key = ObjectKey("abc.mp4"), let digest = ContentDigest(sha256: [UInt8](repeating: 1, count: 32)),
      let id = PostID("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
    {
      let intent = Intent(
        id: id, key: key,
        publication: Publication(digest: digest, destination: Destination("file:///m"), authorID: nil),
        attempt: 1)
      bodies.append(.fileNamed(file, FileNamed(id: id, key: key, attempt: 1)))
      bodies.append(
        .postPublished(
          file,
          Post(
            draft: PostDraft(
              media: report.media, provenance: provenance, metadata: PostMetadata(), commentID: "c"),
            intent: intent, stored: StoredObject(key: key, url: "file:///m/abc.mp4", size: 5, digest: digest),
            pageNumber: 1, createdAt: Date(timeIntervalSince1970: 9))))
    }
    return bodies
  }()

  @Test("every type survives a round trip through JSON", arguments: everyBody)
  func roundTrip(body: IngestEvent.Body) throws {
    let event = IngestEvent(sequence: 7, at: Date(timeIntervalSince1970: 1000), body: body)
    let json = try JSONEncoder().encode(event)
    #expect(try JSONDecoder().decode(IngestEvent.self, from: json) == event)
    let text = String(decoding: json, as: UTF8.self)
    #expect(text.contains(#""v":1"#) && text.contains(#""type":"\#(body.type)""#))
    #expect(text.contains("pathBytes") == (body.file != nil))
  }

  @Test("another version is an error, not a guess")
  func otherVersion() {
    let text = #"{"v":2,"seq":1,"at":0,"type":"run.started","destination":"x","dryRun":false}"#
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(IngestEvent.self, from: Data(text.utf8)) }
  }
}
