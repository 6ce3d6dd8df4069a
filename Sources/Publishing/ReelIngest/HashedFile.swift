import ReelCore
import ReelSource

/// A file that was opened, copied and hashed.
struct HashedFile: Sendable {
  let file: FileReference
  /// Its private copy, or the file itself where no copy was needed.
  let source: SourceFile
  let digest: ContentDigest
  /// The bytes of `source`, for an uploader.
  let bytes: any ByteSource
  /// The container according to its first bytes, or what is wrong with them. An error matters only if the video has not
  /// been published.
  let firstLook: Result<MediaContainer?, ProbeError>
  /// Its metadata, or what is wrong with its sidecar. An error matters only if the file is processed further.
  let metadata: Result<PostMetadata, SourceError>
  let publication: Publication
  /// The stored object of which it is a byte-for-byte copy.
  var origin: ObjectOrigin?
  /// The digest of the file as it came in, if it has been mended since; `digest` is then that of the mended file.
  var arrived: ContentDigest?
  /// The mends that were made, sorted by name; empty if there were none.
  var mended: [String] = []
  /// Whether no earlier run has hashed the file in this state.
  let isNew: Bool
  /// The event that begins the file, if not emitted yet. If the run ends first, the file has not begun.
  let beginning: IngestEvent.Body?

  /// What to remember of a failure to read it.
  func notes(of error: ProbeError, by reader: ReaderVersion) -> [CatalogNote] {
    error.code.isAboutTheBytes ? [.outcome(.failure(error), of: digest, by: reader)] : []
  }

  /// Returns the same file, mended.
  /// - Parameter publication: the publication of the mended bytes.
  func mended(_ copy: PrivateCopy, _ done: Set<Mend>, as publication: Publication) -> HashedFile {
    HashedFile(
      file: file, source: copy.source, digest: copy.digest, bytes: copy, firstLook: firstLook,
      metadata: metadata, publication: publication, arrived: digest,
      mended: done.map(\.rawValue).sorted(), isNew: isNew, beginning: beginning)
  }
}
