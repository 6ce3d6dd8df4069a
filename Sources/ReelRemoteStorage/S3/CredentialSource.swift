import FoundationEssentials
import ReelCore

/// Where an uploader gets its credentials from.
public protocol CredentialSource: Sendable {
  /// Credentials that are good for the next minutes.
  /// - Throws: `storeUnusable` when there are none, naming the places that were looked in.
  func credentials() async throws(UploadError) -> S3Credentials

  /// The store said that what ``credentials()`` gave is no longer good: the next call looks again.
  func forget() async
}

/// Credentials that somebody holds in hand.
public struct FixedCredentials: CredentialSource {
  private let held: S3Credentials

  /// Gives `credentials`, always.
  public init(_ credentials: S3Credentials) { held = credentials }

  /// As they are.
  public func credentials() async throws(UploadError) -> S3Credentials { held }

  /// There are no others.
  public func forget() async {}
}

/// Which places are looked in.
public enum CredentialPlace: String, Sendable, CaseIterable {
  /// The environment, then the shared files.
  case local
  /// The endpoint that a container's runtime offers (ECS, EKS).
  case container
  /// The endpoint that a virtual machine offers (EC2, IMDSv2).
  case instance
}

/// Looks in one place, and remembers what it found until shortly before that ends. A look that fails then is no reason
/// to throw away what is still good.
public actor RememberedCredentials: CredentialSource {
  /// Looks once.
  public typealias Look = @Sendable () async throws(UploadError) -> S3Credentials

  private let look: Look
  private let clock: any WallClock
  private var held: S3Credentials?
  private var looking: Task<Result<S3Credentials, UploadError>, Never>?
  /// Until then what is held does, as a look has just given nothing better.
  private var pausedUntil = Date.distantPast

  /// Looked for anew when so many seconds are left.
  private static let margin = 300.0
  /// With fewer seconds left it is not used any more: a request takes its time.
  private static let least = 30.0
  /// Seconds between two looks that give nothing better.
  private static let pause = 10.0

  /// - Parameter look: gives fresh credentials.
  public init(clock: any WallClock = SystemWallClock(), look: @escaping Look) {
    self.look = look
    self.clock = clock
  }

  /// What is remembered, or fresh ones. Those who ask at once share a look.
  public func credentials() async throws(UploadError) -> S3Credentials {
    if let held, left(of: held) > (clock.now() < pausedUntil ? Self.least : Self.margin) { return held }
    let task = looking ?? Task { await outcome() }
    looking = task
    let result = await task.value
    if looking == task {
      looking = nil
      settle(result)
    }
    if let held, left(of: held) > Self.least { return held }
    return try result.get()
  }

  /// Forgets.
  public func forget() async { (held, pausedUntil) = (nil, .distantPast) }

  private func outcome() async -> Result<S3Credentials, UploadError> {
    do throws(UploadError) {
      return .success(try await look())
    } catch {
      return .failure(error)
    }
  }

  /// Keeps what is good for longer, and asks no more for a while after a look that gave no such.
  private func settle(_ result: Result<S3Credentials, UploadError>) {
    let before = held.map { left(of: $0) } ?? -.infinity
    let now = (try? result.get()).map { left(of: $0) } ?? -.infinity
    if now >= before, let fresh = try? result.get() { held = fresh }
    if now <= before { pausedUntil = clock.now().addingTimeInterval(Self.pause) }
  }

  /// Seconds.
  private func left(of credentials: S3Credentials) -> Double {
    credentials.expires?.timeIntervalSince(clock.now()) ?? .infinity
  }
}
