extension Settings {
  /// These settings, and `other`'s where these say nothing.
  func completed(by other: Settings) -> Settings {
    Settings(
      library: library ?? other.library, to: to ?? other.to, author: author ?? other.author,
      authorName: authorName ?? other.authorName, publicBaseURL: publicBaseURL ?? other.publicBaseURL,
      mode: mode ?? other.mode, jobs: jobs ?? other.jobs, nameLength: nameLength ?? other.nameLength,
      worker: worker ?? other.worker, deadline: deadline ?? other.deadline,
      isolation: isolation ?? other.isolation, progress: progress ?? other.progress,
      limitRate: limitRate ?? other.limitRate, maxSize: maxSize ?? other.maxSize,
      uploads: uploads ?? other.uploads,
      store: store.completed(by: other.store))
  }
}

extension StoreSettings {
  /// These settings, and `other`'s where these say nothing.
  func completed(by other: StoreSettings) -> StoreSettings {
    StoreSettings(
      endpoint: endpoint ?? other.endpoint, region: region ?? other.region,
      pathStyle: pathStyle ?? other.pathStyle, profile: profile ?? other.profile,
      credentials: credentials ?? other.credentials,
      serviceAccount: serviceAccount ?? other.serviceAccount, project: project ?? other.project,
      caFile: caFile ?? other.caFile, proxy: proxy ?? other.proxy,
      insecureHTTP: insecureHTTP ?? other.insecureHTTP, presign: presign ?? other.presign,
      adapterEnv: adapterEnv ?? other.adapterEnv, adapterDeadline: adapterDeadline ?? other.adapterDeadline)
  }
}
