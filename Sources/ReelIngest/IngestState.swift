import ReelModel

/// What a run looks like at one moment: the fold of its events. Its size does not grow with the run.
public struct IngestState: Hashable, Sendable {
  public enum Phase: Hashable, Sendable {
    case idle
    case running
    case finished(RunSummary)
  }
  public var phase: Phase = .idle
  public var destination: Destination?
  public var dryRun = false
  /// Candidates that the walk has found, and whether that is all.
  public var found = 0
  public var foundBytes: Int64 = 0
  public var scanComplete = false
  public var ignored = 0
  /// Files that are being worked on, in the order of their start.
  public var inFlight: [FileInFlight] = []
  public var published = 0
  public var duplicates = 0
  public var planned = 0
  public var refused = 0
  public var failed = 0
  public var publishedBytes: Int64 = 0
  /// Bytes of files that have had their end, whichever it was.
  public var doneBytes: Int64 = 0
  public var reasons: [String: Int] = [:]

  public init() {}

  /// Files that have had their end.
  public var done: Int { published + duplicates + planned + refused + failed }
}

/// A file that is being worked on.
public struct FileInFlight: Hashable, Sendable {
  public enum Step: Hashable, Sendable {
    /// Opened, being hashed and probed.
    case reading
    /// Its facts are known.
    case probed
    /// Named, waiting for the upload's first byte.
    case named
    case uploading(TransferProgress)
    /// An attempt broke; another is coming.
    case retrying(TransferProgress)
  }
  public let file: FileReference
  public let size: Int64?
  public var step: Step

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
      scanComplete = scanned.complete
    case .fileStarted(let file, let size):
      inFlight.append(FileInFlight(file: file, size: size, step: .reading))
    case .fileProbed(let file, _): advance(file, to: .probed)
    case .fileNamed(let file, _): advance(file, to: .named)
    case .uploadProgress(let file, let progress): advance(file, to: .uploading(progress))
    case .uploadRetrying(let file, let progress): advance(file, to: .retrying(progress))
    case .postPublished(let file, let post):
      published += 1
      publishedBytes += post.size ?? 0
      end(file)
    case .fileDuplicate(let file, _):
      duplicates += 1
      end(file)
    case .filePlanned(let file, _):
      planned += 1
      end(file)
    case .fileRefused(let file, let refusal):
      refused += 1
      reasons[refusal.code, default: 0] += 1
      end(file)
    case .fileFailed(let file, let failure):
      failed += 1
      reasons[failure.code, default: 0] += 1
      end(file)
    case .runFinished(let summary):
      phase = .finished(summary)
      inFlight = []
    }
  }

  private mutating func advance(_ file: FileReference, to step: FileInFlight.Step) {
    guard let index = inFlight.firstIndex(where: { $0.file.number == file.number }) else { return }
    inFlight[index].step = step
  }

  private mutating func end(_ file: FileReference) {
    guard let index = inFlight.firstIndex(where: { $0.file.number == file.number }) else { return }
    doneBytes += inFlight[index].size ?? 0
    inFlight.remove(at: index)
  }
}
