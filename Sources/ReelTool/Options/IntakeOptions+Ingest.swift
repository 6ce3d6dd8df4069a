import ReelCore
import ReelIngest

extension IntakeOptions {
  /// How a run treats its files, by these flags and `settings`.
  func ingestOptions(_ settings: Settings) -> IngestOptions {
    var options = IngestOptions()
    options.metadata = PostMetadata(authorID: author, authorName: authorName)
    options.defaultMetadata = PostMetadata(authorID: settings.author, authorName: settings.authorName)
    options.trustSidecars = trustSidecars
    options.duplicates = duplicates == .allow ? .allow : .skip
    options.dryRun = dryRun
    options.jobs = min(settings.jobs ?? max(4, AppContext.processors * 2), DescriptorLimit.jobs)
    if let limit = settings.maxSize { options.maxSize = limit.bytes }
    options.nameLength = settings.nameLength ?? 22
    options.demoCounts = demoCounts
    options.workingDirectory = WorkingFolder.path()
    return options
  }
}
