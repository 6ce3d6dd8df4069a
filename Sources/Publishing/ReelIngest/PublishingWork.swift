import ReelCore
import Synchronization

/// What a lane hands over: it goes on in a task of its own.
enum PublishingWork: Sendable {
  /// A file whose reader takes long.
  case reading(HashedFile, any PendingProbe, by: ReaderVersion)
  /// A file that is to be mended; read just now by that reader, or nil where that is remembered.
  case mending(HashedFile, ProbeReport, MendOptions, by: ReaderVersion?)
  /// A file for whose video somebody else holds the intent.
  case waiting(AcceptedFile)
  case claimed(ClaimedBatch)

  var count: Int {
    switch self {
    case .reading, .mending, .waiting: 1
    case .claimed(let batch): batch.count
    }
  }
}

/// A batch with its intents. Each file is held until it has ended, and no longer: it has a copy on the disk, and up to three
/// descriptors.
final class ClaimedBatch: Sendable {
  let count: Int
  private let left: Mutex<[ClaimedFile]>

  init(_ files: [ClaimedFile]) {
    count = files.count
    left = Mutex(files)
  }

  var files: [ClaimedFile] { left.withLock { $0 } }

  /// The files, which are the caller's from now on.
  func take() -> [ClaimedFile] {
    left.withLock { files in
      defer { files = [] }
      return files
    }
  }
}
