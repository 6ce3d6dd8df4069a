import FoundationEssentials
import ReelCore
import Synchronization
import Testing

@testable import ReelRemoteStorage

/// Credentials that expire in the middle of a run.
@Suite struct RenewalTests {
  private static let start = Date(timeIntervalSince1970: 1_800_000_000)

  private final class Clock: WallClock {
    private let moment = Mutex(RenewalTests.start)
    func now() -> Date { moment.withLock { $0 } }
    func pass(_ seconds: Double) { moment.withLock { $0 += seconds } }
  }

  /// A source whose credentials expire at these times, in seconds from the start; nil is a lookup that fails. The last
  /// one repeats.
  private final class Place: Sendable {
    private let ends: [Double?]
    private let asked = Mutex(0)
    var looks: Int { asked.withLock { $0 } }

    init(_ ends: [Double?]) { self.ends = ends }

    func look() async throws(UploadError) -> S3Credentials {
      let number = asked.withLock { asked in
        defer { asked += 1 }
        return asked
      }
      guard let end = ends[min(number, ends.count - 1)] else { throw UploadError(.unavailable, "busy") }
      return S3Credentials(
        keyID: "K\(number)", secret: Secret("s"), expires: RenewalTests.start.addingTimeInterval(end))
    }
  }

  private func source(_ place: Place, _ clock: Clock) -> RememberedCredentials {
    RememberedCredentials(clock: clock) { () async throws(UploadError) in try await place.look() }
  }

  @Test("a failed lookup does not discard credentials that are still valid")
  func failedLook() async throws {
    let (clock, place) = (Clock(), Place([600, nil, nil, 4000]))
    let source = source(place, clock)
    #expect(try await source.credentials().keyID == "K0")
    clock.pass(400)
    for _ in 0..<5 { #expect(try await source.credentials().keyID == "K0") }
    #expect(place.looks == 2, "not at every request")
    clock.pass(11)
    #expect(try await source.credentials().keyID == "K0" && place.looks == 3)
    clock.pass(11)
    #expect(try await source.credentials().keyID == "K3")
  }

  @Test("credentials about to expire are not used: the lookup's failure is reported")
  func nothingLeft() async throws {
    let (clock, place) = (Clock(), Place([600, nil]))
    let source = source(place, clock)
    _ = try await source.credentials()
    clock.pass(571)
    let error = await #expect(throws: UploadError.self) { try await source.credentials() }
    #expect(error?.code == .unavailable)
  }

  @Test("a source that returns the same credentials again is not asked for every request")
  func nothingNewer() async throws {
    let (clock, place) = (Clock(), Place([600, 600, 500, 4000]))
    let source = source(place, clock)
    _ = try await source.credentials()
    clock.pass(400)
    for _ in 0..<5 { #expect(try await source.credentials().keyID == "K1") }
    #expect(place.looks == 2)
    clock.pass(11)
    #expect(try await source.credentials().keyID == "K1", "what ends earlier is no better")
    clock.pass(11)
    #expect(try await source.credentials().keyID == "K3" && place.looks == 4)
  }

  @Test("concurrent requests share one lookup")
  func sharing() async throws {
    let looks = Mutex(0)
    let (door, open) = AsyncStream<Void>.makeStream()
    let source = RememberedCredentials(clock: Clock()) { () async throws(UploadError) in
      looks.withLock { $0 += 1 }
      for await _ in door { break }
      return S3Credentials(keyID: "K", secret: Secret("s"))
    }
    try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<20 { group.addTask { try await source.credentials().keyID } }
      while looks.withLock({ $0 }) == 0 { await Task.yield() }
      for _ in 0..<100 { await Task.yield() }
      open.finish()
      for try await key in group { #expect(key == "K") }
    }
    #expect(looks.withLock { $0 } == 1)
  }

  @Test("credentials that the store refuses are looked up again at once")
  func forgetting() async throws {
    let (clock, place) = (Clock(), Place([600, 600, 4000]))
    let source = source(place, clock)
    _ = try await source.credentials()
    clock.pass(400)
    _ = try await source.credentials()
    await source.forget()
    #expect(try await source.credentials().keyID == "K2")
  }
}
