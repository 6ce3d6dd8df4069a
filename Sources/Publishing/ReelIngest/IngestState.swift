import ReelCore

/// What a run looks like at one moment: the fold of its events. Its size does not grow with the run.
public struct IngestState: Hashable, Sendable {
  /// Where in its life a run is.
  public enum Phase: Hashable, Sendable {
    /// It has not begun.
    case idle
    /// Files are being taken in.
    case running
    /// It is over.
    case finished(RunSummary)
  }
  /// Idle before `run.started`, finished after `run.finished`.
  public var phase: Phase = .idle
  /// Where videos are stored; nil before the run has started.
  public var destination: Destination?
  /// Whether nothing is written.
  public var dryRun = false
  /// Candidates that the walk has found, and whether that is all.
  public var found = 0
  /// Bytes of the candidates found so far, where their size is known.
  public var foundBytes: Int64 = 0
  /// Whether the walk has come to its end, so that `found` is the total.
  public var scanComplete = false
  /// Files that the walk passed by: no candidates.
  public var ignored = 0
  /// Files that the walk left alone, because they were changed a moment ago.
  public var leftAlone = 0
  /// Files that are being worked on, in the order of their start.
  public var inFlight: [FileInFlight] = []
  /// Videos that became posts.
  public var published = 0
  /// Videos that were posts already.
  public var duplicates = 0
  /// Files whose posts were removed, and that were not published again.
  public var removed = 0
  /// Videos that a dry run would have published.
  public var planned = 0
  /// Files that could be read, and may not be published.
  public var refused = 0
  /// Files that could not be read or stored.
  public var failed = 0
  /// Files that were begun, and that a cancellation kept from being done.
  public var cancelled = 0
  /// How often a file could not be taken in for now, by code: it comes again.
  public var postponed: [String: Int] = [:]
  /// Bytes of the videos that were published.
  public var publishedBytes: Int64 = 0
  /// Videos that became posts without a poster, as none could be made or stored.
  public var postersFailed = 0
  /// Bytes of files that have had their end, whichever it was.
  public var doneBytes: Int64 = 0
  /// How many files failed or were refused, by code.
  public var reasons: [String: Int] = [:]

  /// The state before a run: idle, and everything 0.
  public init() {}

  /// Files that have had their end, for now at least.
  public var done: Int { ended + cancelled + postponed.values.reduce(0, +) }
}

/// A file that is being worked on.
public struct FileInFlight: Hashable, Sendable {
  /// How far a file has come.
  public enum Step: Hashable, Sendable {
    /// Being opened, hashed and probed.
    case reading
    /// Its facts are known.
    case probed
    /// Named, waiting for the upload's first byte.
    case named
    /// On its way to the store.
    case uploading(TransferProgress)
    /// An attempt broke; another is coming.
    case retrying(TransferProgress)
  }
  /// Which file of the run it is.
  public let file: FileReference
  /// Bytes; nil for a file that could not be looked at.
  public let size: Int64?
  /// How far it has come.
  public var step: Step
  /// Whether its poster could not be made or stored.
  public var hasNoPoster = false

  /// A file at a step.
  public init(file: FileReference, size: Int64?, step: Step) {
    self.file = file
    self.size = size
    self.step = step
  }
}

extension IngestState {
  /// The state after `event`; pure.
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
    // What changes nothing of what a run looks like.
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
