import ReelCore
import Synchronization

/// Work that a lane hands over to a task of its own.
enum PublishingWork: Sendable {
  /// A file whose reader takes long.
  case reading(HashedFile, any PendingProbe, by: ReaderVersion)
  /// A file that is to be mended; the reader has just read it, or is nil if the facts were remembered.
  case mending(HashedFile, ProbeReport, MendOptions, by: ReaderVersion?)
  /// A file for whose video another process or file holds the intent.
  case waiting(AcceptedFile)
  case claimed(ClaimedBatch)

  var count: Int {
    switch self {
    case .reading, .mending, .waiting: 1
    case .claimed(let batch): batch.count
    }
  }
}

/// A batch with its intents. Each file is held only until it ends, because it keeps a copy on the disk and up to three
/// descriptors.
final class ClaimedBatch: Sendable {
  let count: Int
  private let left: Mutex<[ClaimedFile]>

  init(_ files: [ClaimedFile]) {
    count = files.count
    left = Mutex(files)
  }

  var files: [ClaimedFile] { left.withLock { $0 } }

  /// Takes the files, which belong to the caller from now on.
  func take() -> [ClaimedFile] {
    left.withLock { files in
      defer { files = [] }
      return files
    }
  }
}
