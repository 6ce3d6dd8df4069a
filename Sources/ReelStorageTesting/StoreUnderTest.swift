import ReelCore

/// A store for tests, and how to get at it.
public struct StoreUnderTest: Sendable {
  /// What the sources of a check are made of.
  public enum SourceKind: Hashable, Sendable {
    /// Bytes in memory: no descriptor, and changes do not show, so they must be hashed on their way.
    case bytes
    /// Files without a name in this folder: a descriptor that the kernel can copy from.
    case files(folder: String)
  }

  let sources: SourceKind
  let largeSize: Int
  let makeUploader: @Sendable () async throws -> any Uploader

  /// - Parameters:
  ///   - sources: an uploader that treats descriptors specially is checked with both kinds.
  ///   - largeSize: bytes of the largest objects; it should take several of the uploader's chunks or parts.
  ///   - makeUploader: gives another uploader of the same store each time, not prepared yet.
  public init(
    sources: SourceKind = .bytes, largeSize: Int = 17 << 20 + 3,
    makeUploader: @escaping @Sendable () async throws -> any Uploader
  ) {
    self.sources = sources
    self.largeSize = largeSize
    self.makeUploader = makeUploader
  }
}
