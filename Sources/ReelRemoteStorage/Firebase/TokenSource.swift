import ReelCore

/// Where the access token comes from that every request carries.
public protocol TokenSource: Sendable {
  /// A token that is good for the next minutes.
  /// - Throws: `storeUnusable` when none is to be had, `unavailable` when that may pass.
  func token() async throws(UploadError) -> Secret

  /// A store said that `token` is no longer good: the next call gets another.
  func forget(_ token: Secret) async
}

/// The token that the emulators take as the owner's; it opens nothing else.
public struct EmulatorToken: TokenSource {
  /// `owner`.
  public init() {}

  /// As the emulators have it.
  public func token() async throws(UploadError) -> Secret { Secret("owner") }

  /// There is no other.
  public func forget(_ token: Secret) async {}
}
