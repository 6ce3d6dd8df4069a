import ReelCore

/// The state of a run at one moment: the fold of its events. Its size does not grow with the run.
public struct IngestState: Hashable, Sendable {
  /// The phase that a run is in.
  public enum Phase: Hashable, Sendable {
    /// The run has not begun.
    case idle
    /// Files are being processed.
    case running
    /// The run has ended.
    case finished(RunSummary)
  }
  /// Idle before `run.started`, finished after `run.finished`.
  public var phase: Phase = .idle
  /// Where videos are stored; nil before the run has started.
  public var destination: Destination?
  /// Whether nothing is written.
  public var dryRun = false
  /// The number of candidates that the walk has found so far.
  public var found = 0
  /// The total size in bytes of the candidates found so far, as far as it is known.
  public var foundBytes: Int64 = 0
  /// Whether the walk is complete, so that `found` is the total.
  public var scanComplete = false
  /// The number of files that are not candidates.
  public var ignored = 0
  /// The number of files that the walk left alone because they were changed too recently.
  public var leftAlone = 0
  /// The files in progress, in the order in which they were started.
  public var inFlight: [FileInFlight] = []
  /// The number of videos that became posts.
  public var published = 0
  /// The number of videos that already were posts.
  public var duplicates = 0
  /// The number of files whose posts were removed, and that were not published again.
  public var removed = 0
  /// The number of videos that a dry run would have published.
  public var planned = 0
  /// The number of files that could be read but must not be published.
  public var refused = 0
  /// The number of files that could not be read or stored.
  public var failed = 0
  /// The number of files that were begun and then interrupted by a cancellation.
  public var cancelled = 0
  /// How often a file was postponed, by code. Postponed files come again.
  public var postponed: [String: Int] = [:]
  /// The total size in bytes of the published videos.
  public var publishedBytes: Int64 = 0
  /// The number of videos that became posts without a poster, because none could be made or stored.
  public var postersFailed = 0
  /// The total size in bytes of the files that have ended in any way.
  public var doneBytes: Int64 = 0
  /// The number of files that failed or were refused, by code.
  public var reasons: [String: Int] = [:]

  /// Creates the state before a run: idle, and everything 0.
  public init() {}

  /// The number of files that have ended, at least for now.
  public var done: Int { ended + cancelled + postponed.values.reduce(0, +) }
}

/// A file in progress.
public struct FileInFlight: Hashable, Sendable {
  /// How far a file has come.
  public enum Step: Hashable, Sendable {
    /// The file is being opened, hashed and probed.
    case reading
    /// The file's facts are known.
    case probed
    /// The file is named and waits for its first byte to be uploaded.
    case named
    /// The file is being uploaded.
    case uploading(TransferProgress)
    /// An attempt failed, and another follows.
    case retrying(TransferProgress)
  }
  /// Which file of the run it is.
  public let file: FileReference
  /// The size in bytes; nil for a file that could not be examined.
  public let size: Int64?
  /// How far it has come.
  public var step: Step
  /// Whether its poster could not be made or stored.
  public var hasNoPoster = false

  /// Creates a file at a step.
  public init(file: FileReference, size: Int64?, step: Step) {
    self.file = file
    self.size = size
    self.step = step
  }
}

extension IngestState {
  /// Returns the state after `event`; a pure function.
  public static func reduce(_ state: IngestState, _ event: IngestEvent) -> IngestState {
    var next = state
    next.apply(event.body)
    return next
  }

  mutating func apply(_ body: IngestEvent.Body) {
    switch body {
    case .runStarted(let started):
      self = IngestState()
      phase = .running
      destination = started.destination
      dryRun = started.dryRun
    case .runScanned(let scanned):
      found = scanned.found
      foundBytes = scanned.bytes
      ignored = scanned.ignored
      leftAlone = scanned.leftAlone
      scanComplete = scanned.complete
    case .fileStarted(let file, let size):
      inFlight.append(FileInFlight(file: file, size: size, step: .reading))
    case .fileProbed(let file, _): advance(file, to: .probed)
    case .posterFailed(let file, _):
      if let index = index(of: file) { inFlight[index].hasNoPoster = true }
    case .fileNamed(let file, _): advance(file, to: .named)
    case .uploadProgress(let file, let progress): advance(file, to: .uploading(progress))
    case .uploadRetrying(let file, let progress): advance(file, to: .retrying(progress))
    case .postPublished(let file, let post):
      published += 1
      publishedBytes = publishedBytes.addingClamped(post.size ?? 0)
      if index(of: file).map({ inFlight[$0].hasNoPoster }) ?? false { postersFailed += 1 }
      end(file)
    case .fileDuplicate(let file, _):
      duplicates += 1
      end(file)
    case .fileRemoved(let file, _):
      removed += 1
      end(file)
    case .filePlanned(let file, _):
      planned += 1
      end(file)
    case .fileRefused(let file, let refusal):
      refused += 1
      reasons[refusal.code.rawValue, default: 0] += 1
      end(file)
    case .fileFailed(let file, let failure):
      if failure.isCancellation {
        cancelled += 1
      } else {
        failed += 1
        reasons[failure.code.rawValue, default: 0] += 1
      }
      end(file)
    case .filePostponed(let file, let failure):
      postponed[failure.code.rawValue, default: 0] += 1
      end(file)
    case .runFinished(let summary):
      phase = .finished(summary)
      inFlight = []
    // Other events do not change the state.
    default: break
    }
  }

  private mutating func advance(_ file: FileReference, to step: FileInFlight.Step) {
    guard let index = index(of: file) else { return }
    inFlight[index].step = step
  }

  private func index(of file: FileReference) -> Int? {
    inFlight.firstIndex { $0.file.number == file.number }
  }

  private mutating func end(_ file: FileReference) {
    guard let index = index(of: file) else { return }
    doneBytes = doneBytes.addingClamped(inFlight[index].size ?? 0)
    inFlight.remove(at: index)
  }
}
