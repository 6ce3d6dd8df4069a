import ReelCore
import ReelSource

/// A file that was opened, copied and hashed.
struct HashedFile: Sendable {
  let file: FileReference
  /// Its private copy, where one was made.
  let source: SourceFile
  let digest: ContentDigest
  /// What `source` reads, for an uploader.
  let bytes: any ByteSource
  /// The container that its first bytes tell, or what is wrong with them: it counts only if nobody has published it.
  let firstLook: Result<MediaContainer?, ProbeError>
  /// What is said of it, and what is wrong with its sidecar: it counts only if the file goes on.
  let metadata: Result<PostMetadata, SourceError>
  let publication: Publication
  /// Whether no earlier run has hashed the file in this state.
  let isNew: Bool
  /// The event that begins it, where that is still to be told: it is not begun if the run ends first.
  let beginning: IngestEvent.Body?

  /// What is to be remembered of a failure to read it.
  func notes(of error: ProbeError, by reader: ReaderVersion) -> [CatalogNote] {
    error.code.isAboutTheBytes ? [.outcome(.failure(error), of: digest, by: reader)] : []
  }
}

/// A file that is to become a post.
struct WantedFile: Sendable {
  let file: FileReference
  let source: UploadSource
  let draft: PostDraft
  let publication: Publication
  /// What was read of it, where a reader has read it just now: remembered if it does not become a post after all. One
  /// that does is never read again for the same destination.
  let reading: CatalogNote?

  /// What was hashed is what was uploaded, and whoever writes to the source was done. Blocks.
  func checkUnchanged() throws(UploadError) {
    do throws(SourceError) {
      try source.bytes.checkUnchanged()
    } catch {
      throw UploadError(
        error.code == .sourceChanged ? .sourceChanged : .sourceUnreadable, error.message)
    }
  }
}

/// A file that goes on alone, after its lane has let go of it.
enum LoneFile: Sendable {
  /// Its reader takes long.
  case reading(HashedFile, any PendingProbe, by: ReaderVersion)
  /// Somebody else holds the intent for the same video.
  case waiting(WantedFile)
  case intended(WantedFile, Intent)
  /// Its upload as part of a batch failed.
  case notStored(WantedFile, Intent, UploadError)
  /// It is stored, and its post could not be written.
  case notCompleted(WantedFile, Intent, CatalogError)

  var file: FileReference {
    switch self {
    case .reading(let hashed, _, _): hashed.file
    case .waiting(let wanted), .intended(let wanted, _), .notStored(let wanted, _, _),
      .notCompleted(let wanted, _, _):
      wanted.file
    }
  }
}
