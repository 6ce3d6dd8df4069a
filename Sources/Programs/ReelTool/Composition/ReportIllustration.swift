import ReelCore
import ReelPage
import ReelProcess

extension ReportIllustration {
  /// An illustration by the settings, with no more workers than there are processors.
  init(settings: Settings, followLinks: Bool) {
    self.init(
      followLinks: followLinks, width: min(settings.jobs ?? Processors.available, Processors.available)
    ) { AppContext.prober(settings, workers: $0, makesPosters: true) }
  }

  /// Makes as many pictures as possible. Ctrl-C ends only this.
  func interruptiblePictures(of files: [ListedFile]) async -> ReportPictures {
    guard !files.isEmpty else { return ReportPictures() }
    let interruption = RunSignals()
    let making = Task { await pictures(of: files) }
    return await interruption.cancelling(making).result
  }
}
