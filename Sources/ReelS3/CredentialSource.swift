import FoundationEssentials
import ReelHTTP
import ReelModel

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

/// Looks in one place, and remembers what it found until shortly before that ends.
public actor RememberedCredentials: CredentialSource {
  /// Looks once.
  public typealias Look = @Sendable () async throws(UploadError) -> S3Credentials

  private let look: Look
  private let clock: any WallClock
  private var held: S3Credentials?

  /// Looked for anew when so many seconds are left.
  private static let margin = 300.0

  /// - Parameter look: gives fresh credentials.
  public init(clock: any WallClock = SystemWallClock(), look: @escaping Look) {
    self.look = look
    self.clock = clock
  }

  /// What is remembered, or fresh ones.
  public func credentials() async throws(UploadError) -> S3Credentials {
    if let held, (held.expires?.timeIntervalSince(clock.now()) ?? .infinity) > Self.margin { return held }
    // Two that ask at once may both look; either answer is good.
    let fresh = try await look()
    held = fresh
    return fresh
  }

  /// Forgets.
  public func forget() async { held = nil }
}
