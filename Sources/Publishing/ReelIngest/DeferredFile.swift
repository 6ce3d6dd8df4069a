import ReelCore
import ReelSource

/// A file that goes on in a task of its own, after its lane has handed it over.
enum DeferredFile: Sendable {
  /// Its reader takes long.
  case reading(HashedFile, any PendingProbe, by: ReaderVersion)
  /// It is to be mended; read just now by that reader, or nil where that is remembered.
  case mending(HashedFile, ProbeReport, MendOptions, by: ReaderVersion?)
  /// Somebody else holds the intent for the same video.
  case waiting(AcceptedFile)
  case intended(AcceptedFile, Intent)
  /// Its upload as part of a batch failed.
  case notStored(AcceptedFile, Intent, UploadError)
  /// It is stored, and its post could not be written.
  case notCompleted(AcceptedFile, Intent, CatalogError)

  var file: FileReference {
    switch self {
    case .reading(let hashed, _, _), .mending(let hashed, _, _, _): hashed.file
    case .waiting(let accepted), .intended(let accepted, _), .notStored(let accepted, _, _),
      .notCompleted(let accepted, _, _):
      accepted.file
    }
  }
}
