extension Settings {
  /// What the command line says.
  init(
    _ library: LibraryOptions, reading: ReadingOptions? = nil, intake: IntakeOptions? = nil,
    output: RunOutputOptions? = nil, store: StoreOptions? = nil, jobs: Int? = nil
  ) {
    self.init(
      library: library.library, to: intake?.to, author: intake?.author, authorName: intake?.authorName,
      publicBaseURL: store?.publicBaseURL, mode: intake?.mode, jobs: jobs, worker: reading?.worker,
      deadline: reading?.deadline, isolation: reading?.isolation?.rawValue,
      progress: output?.progress?.rawValue, limitRate: intake?.limitRate, maxSize: intake?.maxSize,
      uploads: intake?.uploads,
      store: store.map { StoreSettings($0) } ?? StoreSettings())
  }
}

extension StoreSettings {
  /// What the command line says; a flag that is not given says nothing.
  init(_ options: StoreOptions) {
    self.init(
      endpoint: options.endpoint, region: options.region, pathStyle: options.pathStyle,
      profile: options.profile, credentials: options.credentials?.rawValue,
      serviceAccount: options.serviceAccount, project: options.project, caFile: options.caFile,
      proxy: options.proxy, insecureHTTP: options.insecureHTTP ? true : nil, presign: options.presign,
      adapterEnv: options.adapterEnv, adapterDeadline: options.adapterDeadline)
  }
}
