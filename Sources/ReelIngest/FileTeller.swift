import ReelModel

/// Tells the one event that ends a file, and remembers for `reel status` what was not published.
struct FileTeller: Sendable {
  let services: IngestServices
  let options: IngestOptions
  let hub: EventHub

  func tell(_ ending: FileIntake.Ending, of file: FileReference) async {
    switch ending {
    case .published(let post):
      await note(nil, file)
      hub.emit(.postPublished(file, post))
      services.onStep(.told)
      if !options.isAcknowledged { await services.catalog.announced([post.id]) }
    case .duplicate(let post):
      await note(nil, file)
      hub.emit(.fileDuplicate(file, FileDuplicate(post: post)))
    case .planned(let plan): hub.emit(.filePlanned(file, plan))
    }
  }

  /// Gives the end of the run, when the file's end is that too.
  func tell(_ failure: StepFailure, of file: FileReference) async -> RunEnding? {
    if let record = record(failure) { await note(record, file) }
    hub.emit(failure.event(of: file))
    switch failure {
    case .refused: return nil
    case .failed(let failure):
      return options.onError == .stop && !failure.isCancellation ? .stopped : nil
    case .endsTheRun(let failure): return .aborted(failure)
    }
  }

  /// What `reel status` shows of it; nil for what was no fault of the file.
  func record(_ failure: StepFailure) -> FailureRecord? {
    let now = services.clock.now()
    switch failure {
    case .refused(let refusal):
      return FailureRecord(code: refusal.code, message: refusal.message, refused: true, at: now)
    case .failed(let failure) where !failure.isCancellation:
      return FailureRecord(code: failure.code, message: failure.message, refused: false, at: now)
    case .failed, .endsTheRun: return nil
    }
  }

  /// Remembers the record in place of an older one; nil forgets.
  func note(_ record: FailureRecord?, _ file: FileReference) async {
    guard !options.dryRun else { return }
    await services.catalog.remember(record, at: options.absolute(file.path))
  }
}

extension StepFailure {
  /// The terminal event.
  func event(of file: FileReference) -> IngestEvent.Body {
    switch self {
    case .refused(let refusal): .fileRefused(file, refusal)
    case .failed(let failure), .endsTheRun(let failure): .fileFailed(file, failure)
    }
  }
}
