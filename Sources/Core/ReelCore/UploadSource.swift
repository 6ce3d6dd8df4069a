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

  /// Whether nobody else can write to the bytes, so that what is read now is what the digest was taken of.
  var isPrivate: Bool { get }

  /// The private copy that the bytes are read from; a store that made it may make it its object.
  var stagedFile: (any StagedFile)? { get }

  /// Reads up to `buffer.count` bytes at `offset`; 0 at the end. Blocks.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int

  /// Throws `sourceChanged` when the bytes may be others than those the digest was taken of. Blocks.
  func checkUnchanged() throws(SourceError)
}

extension ByteSource {
  /// There is none.
  public var stagedFile: (any StagedFile)? { nil }
}

/// Where a run keeps private copies of the files that it takes in, so that what is hashed, probed, judged and stored are
/// the same bytes, whoever writes to the source meanwhile.
public protocol StagingArea: Sendable {
  /// Makes an empty file that nobody else knows of. Blocks.
  /// - Throws: `storeFull`, `storeUnusable`, `unavailable`, `interrupted`.
  func makeFile() throws(UploadError) -> any StagedFile
}

/// A file of a ``StagingArea``: written once, then only read. It goes with this object, unless it became an object of
/// its store.
public protocol StagedFile: AnyObject, Sendable {
  /// Open for writing until ``seal()``, and for reading from then on.
  var descriptor: Int32 { get }

  /// Whether it lies where it may become an object, so that its bytes may as well be on their way to the disk.
  var mayBecomeObject: Bool { get }

  /// Called once all bytes are written: nothing in this process can write to the file any more. Blocks.
  func seal() throws(UploadError)

  /// Why a system call on the file failed.
  /// - Parameters:
  ///   - code: its `errno`.
  ///   - task: what could not be done, such as "write a private copy".
  func failure(_ code: Int32, _ task: String) -> UploadError
}

/// A store that takes a batch of uploads at once, on a thread that may block.
///
/// It keeps the promises of an ``Uploader``, for each upload apart: one that fails leaves nothing under its key.
public protocol BatchStore: Sendable {
  /// Stores each of `uploads`, and gives their results in the same order; on return every object that is said to be
  /// stored is durable. Blocks.
  /// - Parameter cancellation: looked at before each step of each upload.
  func store(
    _ uploads: [BatchUpload], cancellation: CancellationFlag
  ) -> [Result<StoredObject, UploadError>]
}

/// One upload of a batch.
public struct BatchUpload: Sendable {
  /// What is stored.
  public let source: UploadSource
  /// Its name in the store.
  public let key: ObjectKey

  /// An upload of `source` as `key`.
  public init(source: UploadSource, key: ObjectKey) {
    self.source = source
    self.key = key
  }
}
