import Foundation
import ReelCore
import ReelCrypto
import ReelFaultCampaign
import ReelStorage
import ReelTestSupport
import Synchronization
import Testing

@testable import ReelRemoteStorage

/// Uploads that fail and resume.
@Suite(
  .needsPython, .shortTime, .notQuick)
struct TusResumeTests {
  private static let size = 5 << 20 + 17
  private let key: ObjectKey
  private let bytes: [UInt8]
  private let digest: ContentDigest

  init() throws {
    key = try #require(ObjectKey("k.mp4"))
    var draws = SplitMix64(seed: 1)
    bytes = draws.bytes(Self.size)
    digest = try #require(ContentDigest(sha256: SHA256.hash(data: bytes)))
  }

  private func source(_ body: MemoryBytes? = nil) -> UploadSource {
    UploadSource(
      size: Int64(bytes.count), digest: digest, contentType: "video/mp4",
      bytes: body ?? MemoryBytes(bytes: bytes))
  }

  private func retrying(_ base: any Uploader, attempts: Int = 4) -> any Uploader {
    RetryingUploader(
      base: base, policy: RetryPolicy(attempts: attempts, firstDelay: .zero, longestDelay: .zero),
      clock: HurriedClock())
  }

  /// Faults of a request, and whether a retry overcomes each.
  static let faults: [(FakeTus.Fault, Bool)] = {
    var all: [(FakeTus.Fault, Bool)] = []
    for nth in [1, 3, 6] {
      all += [
        (.init(nth: nth, do: "reset", after: 0), true), (.init(nth: nth, do: "reset", after: 1), true),
        (.init(nth: nth, do: "reset", after: 700_000), nth < 6), (.init(nth: nth, do: "swallow"), true),
      ]
      // The fault strikes one request. Smaller parts are sent after it, but the last part already has the smallest
      // size.
      all.append((.init(nth: nth, do: "status", status: 413), nth < 6))
      for status in [409, 423, 429, 460, 500, 502, 503, 504] {
        all.append((.init(nth: nth, do: "status", status: status), true))
      }
      for status in [400, 401, 403, 415, 507, 301] {
        all.append((.init(nth: nth, do: "status", status: status), false))
      }
    }
    all += [1, 3].map { (.init(nth: $0, do: "lag", after: 5), true) }
    for (method, statuses) in [("POST", [500, 503]), ("HEAD", [500, 503]), ("OPTIONS", [503])] {
      all.append((.init(method: method, do: "swallow"), true))
      all += statuses.map { (.init(method: method, do: "status", status: $0), true) }
    }
    all.append((.init(method: "POST", do: "status", status: 403), false))
    return all
  }()

  @Test(
    "after every fault there is finally one complete object or a clear error",
    arguments: [FakeTus.everything, "creation,termination", "creation,creation-with-upload"])
  func fault(extensions: String) async throws {
    let fake = try await FakeTus.start(extensions)
    for (fault, mends) in Self.faults {
      try await fake.expire(all: true)
      let checkpoints = MemoryCheckpoints()
      let uploader = retrying(try fake.uploader(checkpoints))
      try await fake.break_([fault])
      let what = "\(fault) with \(extensions)"
      do throws(UploadError) {
        let object = try await uploader.upload(source(), to: key) { _ in }
        #expect(
          object.size == Int64(bytes.count) && (object.digest ?? object.clientDigest) == digest, "\(what)")
      } catch {
        #expect(!mends, "\(what): \(error.message)")
        #expect(
          error.message.contains("127.0.0.1") && !error.message.contains("/files/"), "\(error.message)")
        // The same command again.
        _ = try await retrying(try fake.uploader(checkpoints)).upload(source(), to: key) { _ in }
      }
      let seen = try await fake.seen()
      #expect(seen.whole.map(\.sha256) == [digest.hex], "\(what)")
      // A server that acknowledges bytes that it drops can't be resumed.
      let most = fault.do == "lag" ? 3 * bytes.count : bytes.count + 2 << 20
      #expect(seen.received <= most, "\(what): \(seen.received) bytes were sent")
      #expect(try await uploader.find(key)?.size == Int64(bytes.count), "\(what)")
    }
  }

  /// tusd assembles the object and calls its `pre-finish` hook before it replies.
  @Test func afterTheLastByteAServerMayBeSilentForMinutes() async throws {
    let fake = try await FakeTus.start("creation,termination")
    let transport = OverheardTransport(base: fake.transport)
    let uploader = TusUploader(
      try #require(TusEndpoint(fake.endpoint)), transport: transport, checkpoints: MemoryCheckpoints(),
      partSize: 1 << 20)
    _ = try await uploader.upload(source(), to: key) { _ in }
    let parts = transport.calls.withLock { $0.filter { $0.method == .patch } }
    let silences = parts.map { HTTPTimeouts().idle + $0.thinking }
    #expect(silences.count == 6 && silences.dropLast().allSatisfy { $0 == .seconds(50) })
    #expect(silences.last.map { $0 >= .seconds(300) } == true)
  }

  @Test func anotherProcessGoesOnWhereTheLastOneDied() async throws {
    let fake = try await FakeTus.start("creation,termination")
    let checkpoints = MemoryCheckpoints()
    try await fake.break_([.init(nth: 4, do: "reset", after: 300_000)])
    await #expect(throws: UploadError.self) {
      try await fake.uploader(checkpoints).upload(source(), to: key) { _ in }
    }
    let before = try await fake.seen()
    let arrived: Int64 = 3 << 20 + 300_000
    #expect(Int64(before.received) == arrived && before.whole.isEmpty)
    #expect(try await fake.uploader(checkpoints).find(key) == nil)

    let first = Mutex<Int64?>(nil)
    let object = try await fake.uploader(checkpoints).upload(source(), to: key) { progress in
      first.withLock { $0 = $0 ?? progress.sent }
    }
    #expect((object.digest ?? object.clientDigest) == digest)
    #expect(first.withLock { $0 } == arrived)
    let after = try await fake.seen()
    #expect(after.received == bytes.count && after.whole.map(\.sha256) == [digest.hex])
    #expect(after.uploads.count == 1)
    #expect(after.whole.first?.metadata == ["filename": "k.mp4", "filetype": "video/mp4"])
  }

  /// The earlier process died while the file was being changed, so its first part has other bytes.
  @Test func whatWasSentOfOtherBytesIsGivenUp() async throws {
    let fake = try await FakeTus.start("creation,termination")
    let checkpoints = MemoryCheckpoints()
    var other = bytes
    other[7] ^= 0xFF
    try await fake.break_([.init(nth: 3, do: "reset", after: 10)])
    await #expect(throws: UploadError.self) {
      try await fake.uploader(checkpoints).upload(source(MemoryBytes(bytes: other)), to: key) { _ in }
    }
    let object = try await retrying(try fake.uploader(checkpoints)).upload(source(), to: key) { _ in }
    #expect((object.digest ?? object.clientDigest) == digest)
    let seen = try await fake.seen()
    #expect(seen.uploads.map(\.sha256) == [digest.hex])
  }

  @Test func aSourceThatChangesLeavesNothing() async throws {
    for broken in [MemoryBytes(bytes: bytes, hasChanged: true), MemoryBytes(bytes: bytes, failsAt: 3 << 20)] {
      let fake = try await FakeTus.start("creation,termination")
      let checkpoints = MemoryCheckpoints()
      await #expect(throws: UploadError.self) {
        try await fake.uploader(checkpoints).upload(source(broken), to: key) { _ in }
      }
      #expect(try await fake.seen().uploads.isEmpty)
      #expect(
        try await checkpoints.keys(in: fake.uploader(checkpoints).destination, after: nil, limit: 9) == []
      )
    }
  }

  @Test func aPartThatArrivesDamagedIsSentAgain() async throws {
    let fake = try await FakeTus.start("creation,checksum")
    try await fake.break_([.init(nth: 2, do: "corrupt"), .init(nth: 4, do: "corrupt")])
    let object = try await retrying(try fake.uploader(MemoryCheckpoints())).upload(source(), to: key) {
      _ in
    }
    #expect((object.digest ?? object.clientDigest) == digest)
    let seen = try await fake.seen()
    #expect(seen.whole.map(\.sha256) == [digest.hex] && seen.received == bytes.count + 2 << 20)
  }

  /// A key belongs to one video: a rival with another video leaves the first one's upload alone.
  @Test func anotherVideoUnderTheSameKeyIsTurnedAway() async throws {
    let fake = try await FakeTus.start("creation,termination")
    let checkpoints = MemoryCheckpoints()
    try await fake.break_([.init(nth: 2, do: "reset", after: 0)])
    await #expect(throws: UploadError.self) {
      try await fake.uploader(checkpoints).upload(source(), to: key) { _ in }
    }
    let other = try #require(ContentDigest(sha256: SHA256.hash(data: [1])))
    let rival = UploadSource(size: 1, digest: other, contentType: "video/mp4", bytes: MemoryBytes(bytes: [1]))
    let error = await #expect(throws: UploadError.self) {
      try await fake.uploader(checkpoints).upload(rival, to: key) { _ in }
    }
    #expect(error?.code == .alreadyExists)
    _ = try await fake.uploader(checkpoints).upload(source(), to: key) { _ in }
    #expect(try await fake.seen().whole.map(\.sha256) == [digest.hex])
  }

  @Test func anUploadThatExpiredIsBegunAnew() async throws {
    let fake = try await FakeTus.start("creation,expiration")
    let checkpoints = MemoryCheckpoints()
    try await fake.break_([.init(nth: 4, do: "reset", after: 0)])
    await #expect(throws: UploadError.self) {
      try await fake.uploader(checkpoints).upload(source(), to: key) { _ in }
    }
    try await fake.expire()
    _ = try await fake.uploader(checkpoints).upload(source(), to: key) { _ in }
    #expect(try await fake.seen().whole.map(\.sha256) == [digest.hex])
  }

  // MARK: Replies that an upload is missing

  /// A server with an upload interrupted midway, and the checkpoints of its uploader.
  private func brokenOff(
    _ extensions: String = "creation,termination"
  ) async throws -> (FakeTus, MemoryCheckpoints) {
    let fake = try await FakeTus.start(extensions)
    let checkpoints = MemoryCheckpoints()
    try await fake.break_([.init(nth: 4, do: "reset", after: 0)])
    await #expect(throws: UploadError.self) {
      try await fake.uploader(checkpoints).upload(source(), to: key) { _ in }
    }
    return (fake, checkpoints)
  }

  private func proxy(_ method: String, _ nth: Int, _ status: Int = 404) -> FakeTus.Fault {
    .init(method: method, nth: nth, do: "proxy", status: status)
  }

  /// A proxy answers for the server, as an ingress does during a restart. The first OPTIONS is sent when the run
  /// starts.
  @Test(arguments: [(404, 404), (410, 404), (403, 404), (404, 200)])
  func whatStandsBeforeTheServerMakesNoUploadForgotten(_ head: Int, _ options: Int) async throws {
    let (fake, checkpoints) = try await brokenOff()
    try await fake.break_([proxy("HEAD", 1, head), proxy("OPTIONS", 2, options)])
    let error = await #expect(throws: UploadError.self) {
      try await fake.uploader(checkpoints).upload(source(), to: key) { _ in }
    }
    #expect(error?.code == .interrupted, "\(error?.message ?? "")")
    #expect(error?.message.contains("in the place of the tus server") == true)
    _ = try await fake.uploader(checkpoints).upload(source(), to: key) { _ in }
    let seen = try await fake.seen()
    #expect(seen.uploads.map(\.sha256) == [digest.hex] && seen.received == bytes.count)
  }

  @Test func aServerThatIsBackBetweenTwoQuestionsIsAskedOnceMore() async throws {
    let (fake, checkpoints) = try await brokenOff()
    try await fake.break_([proxy("HEAD", 1)])
    _ = try await fake.uploader(checkpoints).upload(source(), to: key) { _ in }
    let seen = try await fake.seen()
    #expect(seen.uploads.map(\.sha256) == [digest.hex] && seen.received == bytes.count)
  }

  @Test func aWholeObjectIsNotMissingBecauseAProxySaysSo() async throws {
    let fake = try await FakeTus.start("creation,termination")
    let uploader = try fake.uploader(MemoryCheckpoints())
    _ = try await uploader.upload(source(), to: key) { _ in }
    let tasks: [(String, @Sendable () async throws -> Void)] = [
      ("HEAD", { _ = try await uploader.find(key) }), ("HEAD", { _ = try await uploader.readBack(key) }),
      ("DELETE", { try await uploader.remove(key) }),
    ]
    for (method, task) in tasks {
      try await fake.break_([proxy(method, 1), proxy("OPTIONS", 1)])
      let error = await #expect(throws: UploadError.self) { try await task() }
      #expect(error?.code == .interrupted, "\(method): \(error?.message ?? "")")
    }
    #expect(try await uploader.find(key)?.size == Int64(bytes.count))
    try await uploader.remove(key)
    #expect(try await fake.seen().uploads.isEmpty)
  }

  /// Not every server marks its replies as tus. One that does not is asked twice and then trusted.
  @Test func aServerThatSaysTwiceThatThereIsNoneIsBelieved() async throws {
    let (fake, checkpoints) = try await brokenOff("creation,expiration")
    try await fake.expire()
    try await fake.break_([proxy("HEAD", 1), proxy("HEAD", 2)])
    _ = try await fake.uploader(checkpoints).upload(source(), to: key) { _ in }
    #expect(try await fake.seen().uploads.map(\.sha256) == [digest.hex])
  }

  @Test func whatIsGoneIsForgottenWhenAnotherStandsInItsPlace() async throws {
    let (fake, checkpoints) = try await brokenOff("creation,expiration")
    let place = try fake.uploader(checkpoints).destination
    let kept = try await checkpoints.checkpoint(of: key, in: place)
    try await fake.expire()
    try await fake.break_([.init(method: "POST", do: "status", status: 503)])
    await #expect(throws: UploadError.self) {
      try await fake.uploader(checkpoints).upload(source(), to: key) { _ in }
    }
    #expect(try await checkpoints.checkpoint(of: key, in: place) == kept && kept != nil)
    _ = try await fake.uploader(checkpoints).upload(source(), to: key) { _ in }
    #expect(try await checkpoints.checkpoint(of: key, in: place) != kept)
    #expect(try await fake.seen().whole.map(\.sha256) == [digest.hex])
  }

  @Test func ofUploadsOfOneNameOneWinsAndTheOthersLeaveNothing() async throws {
    let fake = try await FakeTus.start("creation,termination")
    let checkpoints = MemoryCheckpoints()
    let wins = try await withThrowingTaskGroup { group in
      for _ in 0..<5 {
        group.addTask {
          do {
            _ = try await fake.uploader(checkpoints).upload(source(), to: key) { _ in }
            return 1
          } catch let error as UploadError {
            #expect(
              error.code == .alreadyExists || error.code == .interrupted || error.code == .unavailable)
            return 0
          }
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(wins <= 1)
    #expect(try await fake.seen().whole.count <= 1)
  }
}

/// A transport that records what is sent.
private final class OverheardTransport: HTTPTransport {
  private let base: any HTTPTransport
  let calls = Mutex<[HTTPCall]>([])

  init(base: any HTTPTransport) { self.base = base }

  func send(_ call: HTTPCall) async throws(HTTPFailure) -> HTTPReply {
    calls.withLock { $0.append(call) }
    return try await base.send(call)
  }

  func fetch<Value: Sendable>(
    _ call: HTTPCall, into initial: Value,
    _ update: @escaping @Sendable (inout Value, UnsafeRawBufferPointer) -> Void
  ) async throws(HTTPFailure) -> (reply: HTTPReply, value: Value) {
    try await base.fetch(call, into: initial, update)
  }
}
