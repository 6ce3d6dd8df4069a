import Foundation
import ReelCore
import Testing

extension PostCatalogContractTests {
  private static func file(_ stage: any CatalogStage, _ inode: UInt64) -> FileIdentity {
    let changed = Int64((stage.clock.now().timeIntervalSince1970 - 60) * 1_000_000_000)
    return FileIdentity(device: 1, inode: inode, size: 5, modifiedAt: 1, changedAt: changed)
  }

  private static func question(
    _ file: FileIdentity, at path: String = "/a.mp4", by author: String? = nil,
    to store: String = "file:///media"
  ) -> RecalledFile {
    RecalledFile(
      identity: file, path: SourcePath(path), destination: Destination(store), authorID: author)
  }

  static let recalling = [
    CatalogContractTest("many files are recalled at once, with an answer for each, in order") { stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let digests = (0..<100).map { _ in sketch.digest() }
      for index in stride(from: 0, to: 100, by: 2) {
        await catalog.remember(digests[index], of: file(stage, UInt64(index)))
      }
      let failed = FailureRecord(code: "notMedia", message: "m", refused: false, at: stage.clock.now())
      await catalog.remember(failed, at: SourcePath("/4"))
      let posted = try #require(
        try await catalog.publish(sketch.request(sketch.publication(digests[8])), with: sketch))
      _ = try await catalog.cacheStatus()
      let answers = try catalog.recall(
        (0..<100).map { question(file(stage, UInt64($0)), at: "/\($0)") }, readingPosts: true)
      let expected: [ContentDigest?] = digests.enumerated().map { index, digest in
        index.isMultiple(of: 2) ? digest : nil
      }
      #expect(answers.map { $0?.digest } == expected)
      #expect(answers.compactMap { $0?.post } == [posted])
      #expect(answers.map { $0?.isPublished == true } == (0..<100).map { $0 == 8 })
      #expect(answers.indices.filter { answers[$0]?.failureCode != nil } == [4])
      #expect(answers[4]?.failureCode == "notMedia")
      #expect(try catalog.recall([], readingPosts: true).isEmpty)
    },
    CatalogContractTest("a post is recalled only for its store and its author") { stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let digest = sketch.digest()
      await catalog.remember(digest, of: file(stage, 1))
      _ = try await catalog.publish(sketch.request(sketch.publication(digest, by: "ann")), with: sketch)
      let found = try catalog.recall(
        [
          question(file(stage, 1)), question(file(stage, 1), by: "ann"), question(file(stage, 1), by: "bob"),
          question(file(stage, 1), by: "ann", to: "file:///other"),
        ], readingPosts: false)
      #expect(found.map { $0?.isPublished } == [false, true, false, false])
      #expect(found.allSatisfy { $0?.digest == digest })
    },
    CatalogContractTest("recalling a file hands no event over, unlike looking its post up") { stage in
      let sketch = Sketch()
      let digest = sketch.digest()
      let request = sketch.request(sketch.publication(digest))
      let first = try await stage.open()
      await first.remember(digest, of: file(stage, 1))
      _ = try await first.publish(request, with: sketch)
      let second = try await stage.open()
      let asked = question(file(stage, 1))
      #expect(
        try second.recall([asked], readingPosts: true)[0]?.post != nil,
        "its publisher is alive and will send the event")
      try await stage.kill(first)
      for _ in 0..<2 {
        #expect(try second.recall([asked], readingPosts: false)[0]?.isPublished == false)
      }
      #expect(try second.published(request.publication)?.announced == false)
      #expect(try second.recall([asked], readingPosts: true)[0]?.post != nil)
    },
    CatalogContractTest("one lookup of a digest returns its post and all of its readings") { stage in
      let sketch = Sketch()
      let request = sketch.request(sketch.publication(sketch.digest()))
      let digest = request.publication.digest
      let first = try await stage.open()
      #expect(try first.content(of: digest, publishedAs: request.publication) == KnownContent())
      let readers = [ReaderVersion(reel: "0.1.0", ffmpeg: "59"), ReaderVersion(reel: "0.1.0", ffmpeg: "")]
      let outcomes = readers.map { ProbeOutcome.failure(ProbeError(.notMedia, "by \($0.ffmpeg)")) }
      for (reader, outcome) in zip(readers, outcomes) {
        await first.remember(outcome, of: digest, by: reader)
      }
      _ = try await first.publish(request, with: sketch)
      let known = try first.content(of: digest, publishedAs: request.publication)
      #expect(known.readings == [readers[0]: outcomes[0], readers[1]: outcomes[1]])
      #expect(known.post?.announced == true)
      #expect(try first.content(of: digest, publishedAs: nil).post == nil)
      let second = try await stage.open()
      try await stage.kill(first)
      #expect(try second.content(of: digest, publishedAs: nil).readings == known.readings)
      #expect(
        try second.content(of: digest, publishedAs: request.publication).post?.announced == false)
      #expect(
        try second.content(of: digest, publishedAs: request.publication).post?.announced == true)
    },
    CatalogContractTest("a reader's results are returned for many digests at once") { stage in
      let catalog = try await stage.open()
      let sketch = Sketch()
      let reader = ReaderVersion(reel: "0.1.0", ffmpeg: "59.27.100")
      let digests = (0..<50).map { _ in sketch.digest() }
      func outcome(_ index: Int) -> ProbeOutcome? {
        switch index % 3 {
        case 0: nil
        case 1: .failure(ProbeError(.notMedia, index % 2 == 0 ? "text" : "nothing"))
        default:
          .media(ProbeReport(media: sketch.draft().media, provenance: sketch.draft().provenance))
        }
      }
      let outcomes = digests.indices.map(outcome)
      for (digest, outcome) in zip(digests, outcomes) {
        if let outcome { await catalog.remember(outcome, of: digest, by: reader) }
      }
      _ = try await catalog.cacheStatus()
      #expect(try catalog.probeOutcomes(of: digests, by: reader) == outcomes)
      let other = ReaderVersion(reel: "0.1.0", ffmpeg: "60")
      #expect(try catalog.probeOutcomes(of: digests, by: other).allSatisfy { $0 == nil })
    },
  ]
}
