import ReelCore
import ReelStorage
import ReelStorageTesting
import ReelTestSupport
import Synchronization
import Testing

@Suite struct RetryingUploaderTests {
  let memory = MemoryUploader()
  let clock = ImpatientClock()
  let randomness = SeededRandomness(seed: 20)

  func retrying(_ base: any Uploader, _ policy: RetryPolicy = RetryPolicy()) -> RetryingUploader {
    RetryingUploader(base: base, policy: policy, clock: clock, randomness: randomness)
  }

  @Test(
    "keeps every promise over a failing store", arguments: UploaderContractTest.all,
    FlakyUploader.Fault.allCases)
  func promises(_ promise: UploaderContractTest, _ fault: FlakyUploader.Fault) async throws {
    let store = StoreUnderTest(largeSize: 3 << 20 + 1) { [memory] in
      RetryingUploader(
        base: FlakyUploader(over: memory, fault), policy: RetryPolicy(retriesPerRun: 10_000),
        clock: ImpatientClock(),
        randomness: SeededRandomness(seed: 1))
    }
    try await promise.check(store)
  }

  @Test func aLostReplyIsNoSecondUpload() async throws {
    let flaky = FlakyUploader(over: memory, .lostReply)
    let object = try await retrying(flaky).upload(.filled(100), to: key("a.mp4"))
    #expect(object.size == 100)
    #expect(flaky.count(of: "upload") == 1)
  }

  @Test func theLastReplyMayBeTheLostOne() async throws {
    let flaky = FlakyUploader(over: memory, .lostReply)
    let uploader = retrying(flaky, RetryPolicy(attempts: 1))
    // With a single attempt the check fails, too, so nothing is known.
    #expect(
      await uploadCode {
        try await uploader.upload(.filled(100), to: key("a.mp4"))
      } == .interrupted)
    for attempts in [1, 3] {
      let steady = retrying(LosingReplies(base: memory), RetryPolicy(attempts: attempts))
      let reports = Mutex<[TransferProgress]>([])
      let object = try await steady.upload(.filled(100), to: key("b\(attempts).mp4")) { report in
        reports.withLock { $0.append(report) }
      }
      #expect(object.size == 100)
      #expect(reports.withLock { $0.last }?.sent == 100)
    }
  }

  @Test func whatIsFoundIsHeldAgainstTheSource() async throws {
    let other = try UploadSource.filled(100, with: 1)
    let base = Replacing(base: memory, other: other)
    let code = await uploadCode {
      try await retrying(base).upload(.filled(100), to: key("a.mp4"))
    }
    #expect(code == .conflict)
  }

  @Test func aDigestOfSomethingElseProvesNoDifference() async throws {
    let ours = try UploadSource.filled(100)
    let base = Replacing(base: memory, other: ours, told: try UploadSource.filled(3).digest)
    let object = try await retrying(base).upload(ours, to: key("a.mp4"))
    #expect(object.digest == ours.digest)
  }

  @Test("an object that exists but can't be read is not taken for another one", arguments: [3, .max])
  func unreadable(_ times: Int) async throws {
    let base = Unreadable(base: memory, times: times)
    let code = await uploadCode { try await retrying(base).upload(.filled(100), to: key("a.mp4")) }
    #expect(code == (times == .max ? .unavailable : nil))
    #expect(memory.keys.count == 1)
  }

  @Test(
    "an upload that advances with each attempt is retried until it is complete; one that does not is abandoned",
    arguments: [true, false])
  func progress(_ advances: Bool) async throws {
    let base = Stepping(base: memory, advances: advances)
    let code = await uploadCode { try await retrying(base).upload(.filled(100), to: key("a.mp4")) }
    #expect(code == (advances ? nil : .interrupted))
    #expect(base.attempts.withLock { $0 } == (advances ? 40 : 5))
  }

  @Test("a permanent error is not retried", arguments: UploadError.Code.allCases)
  func onlyWhatMayPass(_ code: UploadError.Code) async throws {
    let flaky = FlakyUploader(over: memory, .refused, error: UploadError(code, "no (a test)"))
    let result = await uploadCode {
      try await retrying(flaky).upload(.filled(10), to: key("a.mp4"))
    }
    #expect(result == (code == .interrupted || code == .unavailable ? nil : code))
    #expect(clock.waited.isEmpty == (result != nil))
  }

  @Test func eachFileHasItsLimit() async throws {
    let flaky = FlakyUploader(over: memory, .refused, failures: .max)
    let uploader = retrying(
      flaky, RetryPolicy(attempts: 3, firstDelay: .seconds(1), longestDelay: .seconds(60)))
    let code = await uploadCode {
      try await uploader.upload(.filled(10), to: key("a.mp4"))
    }
    #expect(code == .interrupted)
    #expect(clock.waited.count == 2)
    #expect(clock.waited.allSatisfy { $0 >= .zero && $0 <= .seconds(2) })
  }

  @Test(
    "a removal that seemed to fail is repeated, which does no harm",
    arguments: FlakyUploader.Fault.allCases)
  func removing(_ fault: FlakyUploader.Fault) async throws {
    _ = try await memory.upload(.filled(10), to: key("a.mp4"))
    let flaky = FlakyUploader(over: memory, fault)
    #expect(try await retrying(flaky).remove(key("a.mp4")) == .gone)
    #expect(flaky.count(of: "remove") == 2 && memory.keys.isEmpty)
  }

  @Test func theRunHasItsLimitToo() async throws {
    let flaky = FlakyUploader(over: memory, .refused, failures: 2)
    let uploader = retrying(flaky, RetryPolicy(attempts: 10, retriesPerRun: 5))
    for index in 0..<4 {
      _ = await uploadCode {
        try await uploader.find(key("\(index).mp4")) as Any
      }
    }
    #expect(clock.waited.count == 5)
    #expect(flaky.count(of: "find") == 3 + 3 + 2 + 1)
  }

  @Test func whatGoesWellMakesUpForRetries() async throws {
    let budget = RetryBudget(
      RetryPolicy(attempts: 2, retriesPerRun: 1), of: memory.destination, clock: clock, randomness: randomness
    )
    for _ in 0..<5 {
      try await budget.run { () throws(UploadError) in }
      var isBusy = true
      try await budget.run { () throws(UploadError) in
        defer { isBusy = false }
        if isBusy { throw UploadError(.unavailable, "busy (a test)") }
      }
    }
    #expect(clock.waited.count == 5)
  }

  @Test func aStoreThatSaysHowLongIsObeyed() async throws {
    let busy = UploadError(.unavailable, "busy (a test)", retryAfter: 7)
    let flaky = FlakyUploader(over: memory, .refused, error: busy)
    try await retrying(flaky).upload(.filled(10), to: key("a.mp4"))
    #expect(clock.waited.allSatisfy { $0 >= .seconds(7) && $0 < .seconds(8) })
    #expect(!clock.waited.isEmpty)
  }

  @Test func reportsSayWhyThereIsAnotherAttempt() async throws {
    let seen = Mutex<[TransferProgress]>([])
    let flaky = FlakyUploader(over: memory, .refused)
    _ = try await retrying(flaky).upload(.filled(10), to: key("a.mp4")) { report in
      seen.withLock { $0.append(report) }
    }
    let reports = seen.withLock { $0 }
    #expect(reports.first?.attempt == 2)
    #expect(reports.first?.retrying?.code == .interrupted)
    // The check before the second attempt failed as well, so there is a third.
    #expect(reports.filter { $0.retrying != nil }.map(\.attempt) == [2, 3])
    #expect(reports.last?.sent == 10)
  }

  @Test(
    "a store that is silent for a minute is not asked again",
    arguments: [(20.0, 3), (45, 2), (59, 2), (60, 1)])
  func silence(_ seconds: Double, _ asked: Int) async throws {
    let silent = UploadError(.interrupted, "silent (a test)", silence: seconds)
    let flaky = FlakyUploader(over: memory, .refused, failures: .max, error: silent)
    #expect(await uploadCode { try await retrying(flaky).find(key("a.mp4")) as Any } == .interrupted)
    #expect(flaky.count(of: "find") == asked)
  }

  @Test func anAnswerEndsTheSilence() async throws {
    let moods = Mutex([20.0, 20, nil, 20, 20, 20] as [Double?])
    let base = Moody(base: memory) { moods.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
    let uploader = retrying(base, RetryPolicy(attempts: 100))
    #expect(await uploadCode { try await uploader.find(key("a.mp4")) as Any } == .interrupted)
    #expect(moods.withLock { $0.isEmpty })
  }

  @Test func aStoreThatFallsSilentInTheMiddleEndsTheRun() async throws {
    let silent = UploadError(.interrupted, "silent (a test)", silence: 45)
    let flaky = FlakyUploader(over: memory, .refused, failures: .max, error: silent)
    let code = await uploadCode { try await retrying(flaky).upload(.filled(10), to: key("a.mp4")) }
    #expect(code == .storeUnusable)
    #expect(flaky.count(of: "upload") == 1)
    #expect(flaky.count(of: "find") == 1)
  }

  @Test func oneSilentConnectionIsNoSilentStore() async throws {
    let silent = UploadError(.interrupted, "silent (a test)", silence: 45)
    let base = SilentOnce(base: memory, error: silent)
    #expect(try await retrying(base).upload(.filled(10), to: key("a.mp4")).size == 10)
  }

  @Test func cancellingEndsTheWait() async throws {
    let flaky = FlakyUploader(over: memory, .refused, failures: .max)
    let uploader = RetryingUploader(
      base: flaky, policy: RetryPolicy(firstDelay: .seconds(1000), longestDelay: .seconds(1000)),
      randomness: Longest())
    let task = Task {
      await uploadCode {
        try await uploader.upload(.filled(10), to: key("a.mp4"))
      }
    }
    while flaky.count(of: "upload") == 0 { await Task.yield() }
    task.cancel()
    #expect(await task.value == .cancelled)
  }

  @Test(
    "waits grow up to a limit",
    arguments: [(1, 250), (2, 500), (3, 1000), (7, 16_000), (8, 20_000), (1000, 20_000)])
  func ceilings(_ attempt: Int, _ milliseconds: Int) {
    let policy = RetryPolicy(attempts: .max)
    let error = UploadError(.interrupted, "")
    #expect(policy.delay(after: attempt, error, Longest()) == .milliseconds(milliseconds))
    #expect(policy.delay(after: attempt, error, Shortest()) == .zero)
  }

  @Test("absurd Retry-After values are ignored", arguments: [0, -1, .nan, -.infinity, .infinity] as [Double])
  func senselessHints(_ hint: Double) {
    let error = UploadError(.unavailable, "", retryAfter: hint)
    #expect(RetryPolicy().delay(after: 1, error, Shortest()) == .zero)
  }

  @Test func aStoreThatAsksForTooMuchIsGivenUp() {
    let error = UploadError(.unavailable, "", retryAfter: 121)
    #expect(RetryPolicy().delay(after: 1, error, Shortest()) == nil)
  }
}

private struct Longest: Randomness {
  func number(below bound: UInt64) -> UInt64 { bound - 1 }
}

private struct Shortest: Randomness {
  func number(below bound: UInt64) -> UInt64 { 0 }
}

/// Loses the reply to every upload.
private struct LosingReplies: UploaderDecorator {
  let base: any Uploader
  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    _ = try await base.upload(source, to: key)
    throw UploadError(.interrupted, "lost (a test)")
  }
}

/// Fails, and leaves another object of the same length under the key; its `find` proves no digest.
private struct Replacing: UploaderDecorator {
  let base: any Uploader
  let other: UploadSource
  /// The digest reported for any object that is found.
  var told: ContentDigest?
  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    _ = try await base.upload(other, to: key)
    throw UploadError(.interrupted, "lost (a test)")
  }
  func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? {
    try await base.find(key).map { StoredObject(key: $0.key, url: $0.url, size: $0.size, digest: told) }
  }
}

/// Fails every `find`: after some seconds of silence, or with a refusal.
private struct Moody: UploaderDecorator {
  let base: any Uploader
  let mood: @Sendable () -> Double?
  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    try await base.upload(source, to: key, reporting: reporting)
  }
  func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? {
    throw UploadError(.interrupted, "moody (a test)", silence: mood())
  }
}

/// The first upload gets no answer; every other call does.
private final class SilentOnce: UploaderDecorator {
  let base: any Uploader
  let error: UploadError
  private let asked = Mutex(0)
  init(base: any Uploader, error: UploadError) { (self.base, self.error) = (base, error) }
  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    let number = asked.withLock { asked in
      asked += 1
      return asked
    }
    if number == 1 { throw error }
    return try await base.upload(source, to: key, reporting: reporting)
  }
}

/// Loses the reply to every upload, proves no digest, and fails the given number of read-backs.
private final class Unreadable: UploaderDecorator {
  let base: any Uploader
  private let left: Mutex<Int>
  init(base: any Uploader, times: Int) {
    self.base = base
    left = Mutex(times)
  }
  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    _ = try await base.upload(source, to: key, reporting: reporting)
    throw UploadError(.interrupted, "lost (a test)")
  }
  func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? {
    try await base.find(key).map { StoredObject(key: $0.key, url: $0.url, size: $0.size, digest: nil) }
  }
  func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? {
    let isHidden = left.withLock { left in
      left -= 1
      return left >= 0
    }
    return isHidden ? nil : try await base.readBack(key)
  }
}

/// Fails 39 times, each time two bytes further or at the same offset.
private final class Stepping: UploaderDecorator {
  let base: any Uploader
  private let advances: Bool
  let attempts = Mutex(0)
  init(base: any Uploader, advances: Bool) { (self.base, self.advances) = (base, advances) }
  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    let attempt = attempts.withLock { attempts in
      attempts += 1
      return attempts
    }
    if attempt == 40 { return try await base.upload(source, to: key, reporting: reporting) }
    reporting(TransferProgress(sent: advances ? Int64(attempt * 2) : 50, total: source.size))
    throw UploadError(.interrupted, "broken (a test)")
  }
}
