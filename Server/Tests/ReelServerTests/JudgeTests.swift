import Foundation
import Logging
import NIOCore
import Reel
import ReelTesting
import Synchronization
import Testing

@testable import ReelServer

@Suite struct JudgeTests {
  private let uploads = TestUploads()

  private func judge(
    _ store: UploadStore, _ catalog: any PostCatalog = MemoryCatalog(),
    policy: any IntakePolicy = DefaultIntakePolicy(), prober: ScriptedProber = ScriptedProber(),
    uploader: (any Uploader)? = nil, addresses: SharedAddresses? = nil
  ) -> Judge {
    Judge(
      IngestServices(
        prober: prober, uploader: uploader ?? MemoryUploader(), catalog: catalog, policy: policy), store,
      maxSize: 1_000, posters: .none, atOnce: 2, addresses: addresses, metrics: ServerMetrics(),
      logger: Logger(label: "test"))
  }

  @Test func aVideoIsPublishedOnceAndToldAlike() async throws {
    let store = try uploads.open()
    let id = try await uploads.upload("a video", of: 7, in: store)
    let (catalog, upload) = (MemoryCatalog(), try await store.find(id))
    let judge = judge(store, catalog)
    let judgements = await withTaskGroup { group in
      for _ in 0..<5 { group.addTask { await judge.judgement(of: upload) } }
      return await group.reduce(into: Set()) { $0.insert($1) }
    }
    guard judgements.count == 1, case .verdict(let verdict) = judgements.first else {
      Issue.record("\(judgements)")
      return
    }
    #expect(verdict.word == .published && verdict.post?.caption == "Hi" && verdict.post?.sourceName == nil)
    // The stored post is as exact as JSON: to the millisecond.
    #expect(try await store.find(id).state.verdict?.post?.id == verdict.post?.id)
    #expect(try await catalog.newestPosts(matching: PostFilter(), before: nil, limit: 10).posts.count == 1)
    // The same video again is a duplicate of that post.
    let again = try await uploads.upload("a video", of: 7, in: store)
    guard case .verdict(let second) = await judge.judgement(of: try store.find(again)) else {
      Issue.record("no verdict")
      return
    }
    #expect(second.word == .duplicate && second.post == verdict.post)
  }

  @Test func theFileThatCameIsTheObject() async throws {
    let store = try uploads.open()
    let media = uploads.folder + "/.media"
    let judge = judge(store, uploader: FolderUploader(root: media))
    let id = try await uploads.upload("a video", of: 7, in: store)
    let file = try FileManager.default.attributesOfItem(atPath: store.files(id).path)
    guard case .verdict(let verdict) = await judge.judgement(of: try store.find(id)) else {
      Issue.record("no verdict")
      return
    }
    let name = try #require(
      try FileManager.default.contentsOfDirectory(atPath: media).first { $0.hasSuffix(".mp4") })
    let object = try FileManager.default.attributesOfItem(atPath: "\(media)/\(name)")
    #expect(object[.systemFileNumber] as? UInt64 == file[.systemFileNumber] as? UInt64)
    // The upload's own name is gone.
    #expect(object[.referenceCount] as? Int == 1)
    #expect(try String(contentsOfFile: "\(media)/\(name)", encoding: .utf8) == "a video")
    #expect(verdict.post?.digest?.hex == "3dbe53a2de431feaea25139a6ea5eb705629d3fb419181298046d78d55acb055")
  }

  @Test func anAddressIsForOneUploadOverAllServers() async throws {
    let others = TestUploads()
    let (catalog, kept) = (MemoryCatalog(), MemoryCheckpoints())
    let addresses = SharedAddresses(kept, MemoryUploader().destination)
    let id = UploadID()
    var verdicts: [Verdict] = []
    for (uploads, bytes) in [(uploads, "a video"), (others, "a video"), (TestUploads(), "another")] {
      let store = try uploads.open()
      var state = uploads.state(7)
      state.rememberedUntil = store.now + 1_000
      _ = try await store.make(id, state)
      try await uploads.append(bytes, to: id, in: store)
      guard
        case .verdict(let verdict) = await judge(store, catalog, addresses: addresses)
          .judgement(of: try store.find(id))
      else {
        Issue.record("no verdict")
        return
      }
      verdicts.append(verdict)
      #expect(try await store.find(id).state.verdict?.word == verdict.word)
    }
    #expect(verdicts.map(\.word) == [.published, .duplicate, .refused])
    #expect(verdicts[0].post?.id == verdicts[1].post?.id)
    #expect(verdicts[2].problem?.code == "spent")
  }

  @Test func whoeverHoldsItIsWaitedFor() async throws {
    let store = try uploads.open()
    let judge = judge(store)
    let id = try await uploads.upload("a video", of: 7, in: store)
    let (held, held2) = try await store.holding(id) { () async throws(Problem) in
      let upload = try await store.find(id)
      let tasks = (Task { await judge.judgement(of: upload) }, Task { await judge.judgement(of: upload) })
      while !store.isAwaited(id) { await Task.yield() }
      return tasks
    }
    guard case .verdict = await held.value else {
      Issue.record("no verdict")
      return
    }
    #expect(await held.value == held2.value)
    // An upload that has lost bytes meanwhile gets no verdict.
    let other = try await uploads.upload("a video", of: 7, in: store)
    let upload = try await store.find(other)
    #expect(truncate(store.files(other).path, 3) == 0)
    #expect(await judge.judgement(of: upload) == .postponed(.busy))
  }

  @Test func aVerdictThatCannotBeWrittenIsNotLost() async throws {
    let store = try uploads.open()
    let (judge, id) = (judge(store), try await uploads.upload("a video", of: 7, in: store))
    let blocked = "\(uploads.folder)/\(id)/state.json.new"
    try FileManager.default.createDirectory(atPath: blocked, withIntermediateDirectories: false)
    guard case .unwritten(let problem) = await judge.judgement(of: try store.find(id)) else {
      Issue.record("it was written")
      return
    }
    #expect(problem.status == 503)
    try FileManager.default.removeItem(atPath: blocked)
    guard case .verdict(let verdict) = await judge.judgement(of: try store.find(id)) else {
      Issue.record("no verdict")
      return
    }
    #expect(verdict.word == .published && verdict.post?.caption == "Hi")
  }

  @Test func whatIsNotTheVideosFaultIsNoVerdict() async throws {
    let store = try uploads.open()
    let id = try await uploads.upload("a video", of: 7, in: store)
    let isFull = Mutex(true)
    let uploader = ScriptedUploader(base: MemoryUploader()) { _ throws(UploadError) in
      if isFull.withLock({ $0 }) { throw UploadError(.storeFull, "no room") }
    }
    let judge = judge(store, uploader: uploader)
    guard case .postponed(let problem) = await judge.judgement(of: try store.find(id)) else {
      Issue.record("a verdict")
      return
    }
    #expect(problem.status == 507 && problem.code == "storeFull")
    #expect(try await store.find(id).state.verdict == nil)
    isFull.withLock { $0 = false }
    guard case .verdict(let verdict) = await judge.judgement(of: try store.find(id)) else {
      Issue.record("no verdict")
      return
    }
    #expect(verdict.word == .published)
  }

  /// The machine may have paused, or the video may be made to keep it busy. A few tries decide, within some minutes.
  @Test(arguments: [(1, 60.0, "published"), (2, 60, "published"), (3, 60, "refused"), (5, 10, "published")])
  func whatMayBeTheVideosFaultIsTriedAFewTimes(times: Int, pause: Double, word: String) async throws {
    let store = try uploads.open()
    let left = Mutex(times)
    let prober = ScriptedProber({ file throws(ProbeError) in
      let isPaused = left.withLock { left in
        defer { left -= 1 }
        return left > 0
      }
      if isPaused { throw ProbeError(.timeout, "raise `deadline`") }
      return .sample(size: file.size)
    })
    let judge = judge(store, prober: prober)
    for number in 1...6 {
      // As a client sends it: a new upload each time.
      let id = try await uploads.upload("a video", of: 7, in: store)
      switch await judge.judgement(of: try await store.find(id)) {
      case .postponed(let problem):
        #expect(number <= times && problem.status == 503 && problem.code == "timeout")
      case .verdict(let verdict):
        #expect(number == (word == "refused" ? 3 : times + 1) && verdict.word.rawValue == word)
        #expect(verdict.problem?.message.contains("deadline") != true)
        return
      case .unwritten(let problem): Issue.record("\(problem)")
      }
      uploads.pass(pause)
    }
    Issue.record("no verdict")
  }
}

@Suite struct SharedAddressTests {
  private let destination = MemoryUploader().destination

  @Test func isSpentForTheSameBytesAlone() async throws {
    let addresses = SharedAddresses(MemoryCheckpoints(), destination)
    let (id, end) = (UploadID(), Date(timeIntervalSince1970: 1_800_000_000))
    let (one, other) = (try digest(1), try digest(2))
    #expect(try await addresses.spend(id, until: end, for: one, now: end))
    #expect(try await addresses.spend(id, until: end, for: one, now: end))
    #expect(try await !addresses.spend(id, until: end, for: other, now: end))
    #expect(try await addresses.spend(UploadID(), until: end, for: other, now: end))
    // If it could soon be forgotten, it could be spent again.
    #expect(try await !addresses.spend(UploadID(), until: end, for: other, now: end + 29.5 * 86_400))
  }

  @Test func isForgottenLongAfterItsEnd() async throws {
    let kept = MemoryCheckpoints()
    let addresses = SharedAddresses(kept, destination)
    let end = Date(timeIntervalSince1970: 1_800_000_000)
    let object = try #require(ObjectKey("abc.mp4"))
    let use = try #require(UploadCheckpoint("x", of: try digest(1)))
    try await kept.keep(use, of: object, in: destination)
    for end in [end, end + 10] {
      _ = try await addresses.spend(UploadID(), until: end, for: try digest(1), now: end)
    }
    for (days, count) in [(0, 3), (29, 3), (30, 2), (31, 1)] {
      try await addresses.tidy(end + Double(days) * 86_400 + 1)
      #expect(try await kept.keys(in: destination, after: nil, limit: 10).count == count)
    }
  }

  private func digest(_ byte: UInt8) throws -> ContentDigest {
    try #require(ContentDigest(sha256: [UInt8](repeating: byte, count: 32)))
  }
}

@Suite struct PreparedUploaderTests {
  private struct Counting: Uploader {
    let base = MemoryUploader()
    let prepared: @Sendable () throws(UploadError) -> Void
    var traits: UploadTraits { base.traits }
    var destination: Destination { base.destination }

    func prepare() async throws(UploadError) { try prepared() }

    func upload(
      _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
    ) async throws(UploadError) -> StoredObject {
      try await base.upload(source, to: key, reporting: reporting)
    }

    func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? { try await base.find(key) }

    func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval { try await base.remove(key) }

    func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? {
      try await base.readBack(key)
    }
  }

  @Test func isPreparedForManyAtOnceUnlessItFails() async throws {
    let count = Mutex(0)
    let base = Counting { () throws(UploadError) in
      let isFirst = count.withLock { count in
        count += 1
        return count == 1
      }
      if isFirst { throw UploadError(.storeUnusable, "it is not mounted") }
    }
    let uploader = PreparedUploader(base, period: .seconds(3600))
    await #expect(throws: UploadError.self) { try await uploader.prepare() }
    try await withThrowingTaskGroup { group in
      for _ in 0..<20 { group.addTask { try await uploader.prepare() } }
      try await group.waitForAll()
    }
    #expect(count.withLock { $0 } == 2)
    let brief = PreparedUploader(base, period: .zero)
    for _ in 0..<2 { try await brief.prepare() }
    #expect(count.withLock { $0 } == 4)
  }
}

@Suite struct JudgementTests {
  private static let refusal = FileRefused(
    code: .policy, violations: [PolicyViolation(rule: "duration.max", message: "it is too long")])

  @Test(
    arguments: [
      (.published(.sample()), 201, nil), (.duplicate(.sample()), 200, nil), (.duplicate(nil), 200, nil),
      (.removed(RemovedPost(post: .sample(), removal: Removal(at: .distantPast))), 410, "removed"),
      (.refused(refusal), 422, "policy"),
      (.failed(FileFailure(code: .probe(.notMedia), message: "no")), 422, "notMedia"),
      (.failed(FileFailure(code: .probe(.crashed), message: "no")), 422, "crashed"),
    ] as [(PublishResult, Int, String?)])
  func isAVerdict(result: PublishResult, status: Int, code: String?) throws {
    guard case .verdict(let verdict) = Judgement(result) else {
      Issue.record("no verdict")
      return
    }
    #expect(verdict.status.code == status && verdict.problem?.code == code)
  }

  @Test(
    arguments: [
      (.failed(FileFailure(code: .upload(.storeFull), message: "no")), 507),
      (.failed(FileFailure(code: .catalog(.diskFull), message: "no")), 507),
      (.failed(FileFailure(code: .upload(.unavailable), message: "no")), 503),
      (.failed(FileFailure(code: .catalog(.locked), message: "no")), 503),
      (.failed(FileFailure(code: .probe(.workerMissing), message: "no")), 503),
      (.failed(FileFailure(code: .probe(.noReader), message: "no")), 503),
      (.failed(FileFailure(code: .probe(.timeout), message: "no")), 503),
      (.failed(FileFailure(code: .probe(.memoryLimit), message: "no")), 503),
      (.cancelled, 503),
    ] as [(PublishResult, Int)])
  func isPutOff(result: PublishResult, status: Int) throws {
    guard case .postponed(let problem) = Judgement(result) else {
      Issue.record("a verdict")
      return
    }
    #expect(problem.status == status)
    #expect(problem.retryAfter != nil)
  }

  @Test func keepsToItselfWhatIsNobodysBusiness() {
    let failure = FileFailure(code: .upload(.unavailable), message: "the store s3://private is down")
    guard case .postponed(let problem) = Judgement(.failed(failure)) else {
      Issue.record("a verdict")
      return
    }
    #expect(!problem.message.contains("private") && problem.detail == failure.message)
    let removed = RemovedPost(
      post: .sample(), removal: Removal(reason: "a complaint by bob", at: .distantPast))
    guard case .verdict(let verdict) = Judgement(.removed(removed)) else {
      Issue.record("no verdict")
      return
    }
    #expect(verdict.problem?.message.contains("bob") == false)
  }

  @Test func saysWhichRulesAreBroken() {
    guard case .verdict(let verdict) = Judgement(.refused(Self.refusal)) else {
      Issue.record("no verdict")
      return
    }
    #expect(verdict.problem?.violations == [.init(rule: "duration.max", message: "it is too long")])
  }
}
