extension Settings {
  /// What the command line says.
  init(
    _ library: LibraryOptions, reading: ReadingOptions? = nil, intake: IntakeOptions? = nil,
    output: RunOutputOptions? = nil, jobs: Int? = nil
  ) {
    self.init(
      library: library.library, to: intake?.to, author: intake?.author, authorName: intake?.authorName,
      publicBaseURL: intake?.publicBaseURL, mode: intake?.mode, jobs: jobs, worker: reading?.worker,
      deadline: reading?.deadline, isolation: reading?.isolation?.rawValue,
      progress: output?.progress?.rawValue)
  }
}
