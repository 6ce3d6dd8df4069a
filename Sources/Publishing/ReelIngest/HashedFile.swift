import ReelCore
import ReelSource

/// A file that was opened, copied and hashed.
struct HashedFile: Sendable {
  let file: FileReference
  /// Its private copy, where one was made, or was not needed.
  let source: SourceFile
  let digest: ContentDigest
  /// What `source` reads, for an uploader.
  let bytes: any ByteSource
  /// The container that its first bytes tell, or what is wrong with them: it counts only if nobody has published it.
  let firstLook: Result<MediaContainer?, ProbeError>
  /// What is said of it, and what is wrong with its sidecar: it counts only if the file goes on.
  let metadata: Result<PostMetadata, SourceError>
  let publication: Publication
  /// The object of a store that it was copied from, byte by byte.
  var origin: ObjectOrigin?
  /// What it was when it came in, where it has been mended since; `digest` is that of the mended one then.
  var arrived: ContentDigest?
  /// What was done to it, in the order of the words; empty for nothing.
  var mended: [String] = []
  /// Whether no earlier run has hashed the file in this state.
  let isNew: Bool
  /// The event that begins it, where that is still to be told: it is not begun if the run ends first.
  let beginning: IngestEvent.Body?

  /// What is to be remembered of a failure to read it.
  func notes(of error: ProbeError, by reader: ReaderVersion) -> [CatalogNote] {
    error.code.isAboutTheBytes ? [.outcome(.failure(error), of: digest, by: reader)] : []
  }

  /// The same file, mended.
  /// - Parameter publication: what it is to be published as.
  func mended(_ copy: PrivateCopy, _ done: Set<Mend>, as publication: Publication) -> HashedFile {
    HashedFile(
      file: file, source: copy.source, digest: copy.digest, bytes: copy, firstLook: firstLook,
      metadata: metadata, publication: publication, arrived: digest,
      mended: done.map(\.rawValue).sorted(), isNew: isNew, beginning: beginning)
  }
}
