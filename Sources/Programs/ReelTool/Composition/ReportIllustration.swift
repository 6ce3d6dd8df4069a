import ReelPage
import ReelProcess

extension ReportIllustration {
  /// Put together from the settings. No more than the processors are used.
  init(settings: Settings, followLinks: Bool) {
    self.init(
      followLinks: followLinks, width: min(settings.jobs ?? AppContext.processors, AppContext.processors)
    ) { AppContext.prober(settings, workers: $0, makesPosters: true) }
  }

  /// As many pictures as can be had; Ctrl-C ends the making of them, and nothing else.
  func interruptiblePictures(of files: [ListedFile]) async -> ReportPictures {
    guard !files.isEmpty else { return ReportPictures() }
    let interruption = RunSignals()
    let making = Task { await pictures(of: files) }
    return await interruption.cancelling(making).result
  }
}
