import ReelCore
import ReelProcess
import ReelStorage
import ReelStores
import ReelTerminal

extension Stores {
  /// Creates the stores that the settings describe.
  /// - Parameters:
  ///   - library: the library's path; nil where the catalog is on a server.
  ///   - secretsAreFor: the destination that the available secrets belong to; nil for the one of the settings.
  init(
    _ settings: Settings, library: String?, checkpoints: any UploadCheckpoints = MemoryCheckpoints(),
    secretsAreFor: String? = nil
  ) {
    self.init(
      StoreSettings(settings), library: library, checkpoints: checkpoints,
      secretsAreFor: secretsAreFor ?? settings.to,
      environment: { isMeant throws(UploadError) in
        do {
          return try ProcessEnvironment.current().texts(where: isMeant)
        } catch {
          throw UploadError(.storeUnusable, CommandFailure.reason(error))
        }
      }, onNotice: { LongWait.tellOnce($0) })
  }
}

extension StoreSettings {
  fileprivate init(_ settings: Settings) {
    self.init(jobs: AppContext.jobs(settings))
    (publicBaseURL, presign) = (settings.publicBaseURL, settings.presign)
    (limitRate, uploads) = (settings.limitRate, settings.uploads)
    if let mode = settings.mode { self.mode = mode }
    lease = DebugSteps.lease
    allowsPlainHTTP = settings.insecureHTTP ?? false
    (certificates, proxy) = (settings.caFile, settings.proxy)
    (endpoint, region, pathStyle) = (settings.endpoint, settings.region, settings.pathStyle)
    (profile, credentials) = (settings.profile, settings.credentials ?? .local)
    sendsChecksums = settings.requestChecksums.map { $0 == .whenSupported }
    sendsConditions = settings.conditionalPuts ?? true
    (serviceAccount, project) = (settings.serviceAccount, settings.project)
    uploadHosts = Self.words(of: settings.uploadHosts)
    adapterVariables = Self.words(of: settings.adapterEnv)
    if let deadline = settings.adapterDeadline { adapterDeadline = .seconds(deadline) }
  }

  /// The words of a setting that is a list.
  private static func words(of text: String?) -> [String] {
    (text ?? "").split(whereSeparator: { $0 == "," || $0 == " " }).map(String.init)
  }
}
