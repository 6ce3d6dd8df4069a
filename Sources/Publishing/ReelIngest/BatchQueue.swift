import Dispatch
import ReelCore
import ReelSource
import Synchronization

/// A bounded queue of batches between a thread that finds files and the lanes that take them in. Putting and taking
/// block.
final class BatchQueue<Batch: Sendable>: Sendable {
  private struct State {
    var batches: [Batch] = []
    var isClosed = false
  }
  private let state = Mutex(State())
  private let spaces = DispatchSemaphore(value: 0)
  private let filled = DispatchSemaphore(value: 0)

  /// - Parameter capacity: batches that may wait, at least 1.
  init(capacity: Int) {
    // A semaphore that is let go of below its first value is a fault to libdispatch.
    for _ in 0..<max(1, capacity) { spaces.signal() }
  }

  /// Waits for room. False when the queue is closed: the batch was not taken.
  func put(_ batch: Batch) -> Bool {
    spaces.wait()
    let isTaken = state.withLock { state in
      if state.isClosed { return false }
      state.batches.append(batch)
      return true
    }
    if isTaken { filled.signal() } else { spaces.signal() }
    return isTaken
  }

  /// Waits for a batch; nil when the queue is closed and empty.
  /// - Parameter onIdle: called before it waits for longer than `patience`.
  func take(after patience: DispatchTimeInterval, _ onIdle: () -> Void) -> Batch? {
    if filled.wait(timeout: .now() + patience) == .timedOut {
      onIdle()
      filled.wait()
    }
    let batch = state.withLock { $0.batches.isEmpty ? nil : $0.batches.removeFirst() }
    // Closed: the next one who waits is to see that, too.
    if batch == nil { filled.signal() } else { spaces.signal() }
    return batch
  }

  /// Takes nothing in any more, and wakes everybody who waits. What is in it can still be taken.
  func close() {
    state.withLock { $0.isClosed = true }
    spaces.signal()
    filled.signal()
  }
}

/// A file of the run that is to have an end: one to take in, or one that the walk could not reach.
struct NumberedItem: Sendable {
  let file: FileReference
  let size: Int64?
  private let result: Result<FoundFile, SourceError>

  fileprivate init(_ file: FileReference, size: Int64?, _ result: Result<FoundFile, SourceError>) {
    self.file = file
    self.size = size
    self.result = result
  }

  /// The file to take in.
  func candidate() throws(SourceError) -> FoundFile { try result.get() }
}

/// Numbers what the walk finds, and counts what it passes by.
struct ScanCount {
  private var found = 0
  private var ignored = 0
  private var bytes: Int64 = 0
  var isComplete = false

  /// The item's place in the run; nil when it is none of the run's.
  mutating func count(_ item: WalkItem, _ ticket: FeedTicket? = nil) -> NumberedItem? {
    switch item {
    case .ignored, .orphanSidecar:
      ignored += 1
      return nil
    case .candidate(let file):
      found += 1
      bytes = bytes.addingClamped(file.identity.size)
      return NumberedItem(
        FileReference(number: found, path: file.path, ticket: ticket), size: file.identity.size,
        .success(file))
    case .failed(let path, let error):
      found += 1
      return NumberedItem(
        FileReference(number: found, path: path, ticket: ticket), size: nil, .failure(error))
    }
  }

  var facts: RunScanned {
    RunScanned(found: found, ignored: ignored, bytes: bytes, complete: isComplete)
  }
}

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

/// A file that is to become a post.
struct WantedFile: Sendable {
  let file: FileReference
  /// What `source` reads.
  let video: SourceFile
  let source: UploadSource
  var draft: PostDraft
  let publication: Publication
  /// What it was when it came in, where it was mended.
  var arrived: ContentDigest?
  /// What was read of it, where a reader has read it just now: remembered if it does not become a post after all. One
  /// that does is never read again for the same destination.
  let reading: CatalogNote?
  /// Its poster, where one was made.
  var poster: MadePoster?

  /// Its post is to show its poster, which is stored now.
  mutating func show(_ stored: StoredObject) {
    draft.poster = poster.map { PostPoster($0.poster, stored: stored) }
  }

  /// What was hashed is what was uploaded, and whoever writes to the source was done. Blocks.
  func checkUnchanged() throws(UploadError) {
    do throws(SourceError) {
      try source.bytes.checkUnchanged()
    } catch {
      throw UploadError(
        error.code == .sourceChanged ? .sourceChanged : .sourceUnreadable, error.text)
    }
  }
}

/// A poster that is to be stored.
struct MadePoster: Sendable {
  let poster: Poster
  let source: UploadSource

  init(_ poster: Poster) {
    self.poster = poster
    source = UploadSource(poster.jpeg, contentType: "image/jpeg")
  }
}

/// A file that goes on alone, after its lane has let go of it.
enum LoneFile: Sendable {
  /// Its reader takes long.
  case reading(HashedFile, any PendingProbe, by: ReaderVersion)
  /// It is to be mended; read just now by that reader, or nil where that is remembered.
  case mending(HashedFile, ProbeReport, MendOptions, by: ReaderVersion?)
  /// Somebody else holds the intent for the same video.
  case waiting(WantedFile)
  case intended(WantedFile, Intent)
  /// Its upload as part of a batch failed.
  case notStored(WantedFile, Intent, UploadError)
  /// It is stored, and its post could not be written.
  case notCompleted(WantedFile, Intent, CatalogError)

  var file: FileReference {
    switch self {
    case .reading(let hashed, _, _), .mending(let hashed, _, _, _): hashed.file
    case .waiting(let wanted), .intended(let wanted, _), .notStored(let wanted, _, _),
      .notCompleted(let wanted, _, _):
      wanted.file
    }
  }
}
