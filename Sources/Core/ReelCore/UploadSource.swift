/// The bytes to be uploaded, of known size and digest, read by position.
public struct UploadSource: Sendable {
  /// The size in bytes.
  public let size: Int64
  /// The SHA-256 of the bytes, computed before the upload.
  public let digest: ContentDigest
  /// The media type to store with the object.
  public let contentType: String
  /// The bytes.
  public let bytes: any ByteSource
  /// An object with the same bytes, from which the store may copy. The copy still has to be verified.
  package var origin: ObjectOrigin?
  /// The checksums of all of ``bytes``, if they were computed together with ``digest`` and the bytes are private.
  package let sums: BlockSums?
  /// Whether a catalog names the object. If so, another machine that takes this one for dead may find the object
  /// under its key and publish it. An upload that has created something that must not count therefore leaves it in
  /// place, and reports it (``UploadError/standing``).
  package var isIntended = false

  /// Creates a source. `digest` and `size` describe all of `bytes`; the uploader checks what it reads against them.
  public init(size: Int64, digest: ContentDigest, contentType: String, bytes: any ByteSource) {
    self.size = size
    self.digest = digest
    self.contentType = contentType
    self.bytes = bytes
    sums = (bytes as? any SummedBytes)?.summedDigest.flatMap {
      $0.digest == digest && $0.sums.size == size && bytes.isPrivate ? $0.sums : nil
    }
  }
}

extension UploadSource {
  /// This source as an object that a catalog names.
  package var intended: UploadSource {
    var source = self
    source.isIntended = true
    return source
  }
}

/// Bytes read by position.
public protocol ByteSource: Sendable {
  /// The descriptor of a regular file that the kernel may copy from, starting at offset 0; nil if there is none.
  var descriptor: Int32? { get }

  /// Whether no other user can write to the bytes, so that they are still those from which the digest was computed.
  var isPrivate: Bool { get }

  /// The private copy that the bytes are read from. The store that created it may turn it into its object.
  var stagedFile: (any StagedFile)? { get }

  /// Reads up to `buffer.count` bytes at `offset`; 0 at the end. Blocks.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int

  /// Checks that the bytes are still those from which the digest was computed. Blocks.
  /// - Throws: `sourceChanged` if they may have changed.
  func checkUnchanged() throws(SourceError)
}

/// The bytes of a file that is no longer written to. A store may turn it into its object by creating a hard link.
package protocol LinkableBytes: ByteSource {
  /// Hands the open file to the caller that makes an object of it, only once: a file whose sync failed must not be
  /// synced again.
  func takeFile() -> Descriptor?
}

extension ByteSource {
  /// Nil: there is no private copy.
  public var stagedFile: (any StagedFile)? { nil }
}
