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
    uploader: (any Uploader)? = nil
  ) -> Judge {
    Judge(
      IngestServices(
        prober: prober, uploader: uploader ?? MemoryUploader(), catalog: catalog, policy: policy), store,
      maxSize: 1_000, posters: .none, atOnce: 2, metrics: ServerMetrics(), logger: Logger(label: "test"))
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
    // What is kept is as exact as JSON: to the millisecond.
    #expect(try await store.find(id).state.verdict?.post?.id == verdict.post?.id)
    #expect(try await catalog.newestPosts(matching: PostFilter(), before: nil, limit: 10).posts.count == 1)
    // The same video again is that post.
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
    // One that lost bytes meanwhile has none.
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
      (.failed(FileFailure(code: .probe(.timeout), message: "no")), 422, "timeout"),
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
