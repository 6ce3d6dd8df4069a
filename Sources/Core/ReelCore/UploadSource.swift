/// What an uploader stores: bytes of a known length and digest, read by position.
public struct UploadSource: Sendable {
  /// Bytes.
  public let size: Int64
  /// The SHA-256 of the bytes, taken before the upload.
  public let digest: ContentDigest
  /// The media type to store beside the object.
  public let contentType: String
  /// The bytes.
  public let bytes: any ByteSource
  /// An object that holds just these bytes, which its store may copy; what it copies has to be proved.
  package var origin: ObjectOrigin?
  /// Those of all of ``bytes``, where they were taken with ``digest``; then the bytes are private.
  package let sums: BlockSums?
  /// Whether a catalog names the object: then another machine that takes this one for dead may find it under its key, and
  /// publish it. So an upload that has created something that must not count leaves it, and says so
  /// (``UploadError/standing``).
  package var isIntended = false

  /// A source. `digest` and `size` are of all of `bytes`, and the uploader holds what it reads to them.
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
  /// The same, of an object that a catalog names.
  package var intended: UploadSource {
    var source = self
    source.isIntended = true
    return source
  }
}

/// Bytes read by position.
public protocol ByteSource: Sendable {
  /// A regular file's descriptor that the kernel may copy from, offset 0 on; nil when there is none.
  var descriptor: Int32? { get }

  /// Whether no other user can write to the bytes, so that what is read now is what the digest was taken of.
  var isPrivate: Bool { get }

  /// The private copy that the bytes are read from; a store that made it may make it its object.
  var stagedFile: (any StagedFile)? { get }

  /// Reads up to `buffer.count` bytes at `offset`; 0 at the end. Blocks.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int

  /// Throws `sourceChanged` when the bytes may be others than those the digest was taken of. Blocks.
  func checkUnchanged() throws(SourceError)
}

/// Bytes of a file that nobody writes to any more: a store may make it its object, by one more name for it.
package protocol LinkableBytes: ByteSource {
  /// The open file, for who makes an object of it: once, as a file whose sync failed must not be synced again.
  func takeFile() -> Descriptor?
}

extension ByteSource {
  /// There is none.
  public var stagedFile: (any StagedFile)? { nil }
}
