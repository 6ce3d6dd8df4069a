import ReelCore

/// What goes on in a task of its own, after a lane has handed it over.
enum DeferredFiles: Sendable {
  /// A file whose reader takes long.
  case reading(HashedFile, any PendingProbe, by: ReaderVersion)
  /// A file that is to be mended; read just now by that reader, or nil where that is remembered.
  case mending(HashedFile, ProbeReport, MendOptions, by: ReaderVersion?)
  /// A file for whose video somebody else holds the intent.
  case waiting(AcceptedFile)
  /// A batch with its intents.
  case claimed([ClaimedFile])

  var count: Int {
    switch self {
    case .reading, .mending, .waiting: 1
    case .claimed(let batch): batch.count
    }
  }
}
