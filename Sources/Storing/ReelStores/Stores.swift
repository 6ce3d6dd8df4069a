import ReelCore
import ReelRemoteStorage
import ReelSource
import ReelStorage

/// Turns an address into a store: the one place that knows every kind.
package struct Stores: Sendable {
  /// Returns the environment variables whose names are meant.
  package typealias Environment =
    @Sendable (_ isMeant: (_ name: String) -> Bool) throws(UploadError) -> [String: String]

  package var settings: StoreSettings
  /// The path of the library folder, which contains the default destination and its temporary files. Nil if there is
  /// none, as the catalog is on a server.
  package let library: String?
  /// The state from which interrupted uploads are resumed.
  package var checkpoints: any UploadCheckpoints
  /// The destination that the secrets at hand are for, as the user named it; nil if the user named none.
  package var secretsAreFor: String?
  /// Which servers of sources may be connected to; nil for all.
  package var rule: ConnectionRule?
  private let environment: Environment
  let onNotice: @Sendable (String) -> Void

  /// Opens nothing yet.
  /// - Parameters:
  ///   - environment: the process's environment, asked for the variables that a store needs when it is opened.
  ///   - onNotice: called with a sentence about what a store can't promise.
  package init(
    _ settings: StoreSettings, library: String?, checkpoints: any UploadCheckpoints, secretsAreFor: String?,
    environment: @escaping Environment, onNotice: @escaping @Sendable (String) -> Void
  ) {
    (self.settings, self.library, self.checkpoints) = (settings, library, checkpoints)
    (self.secretsAreFor, self.environment, self.onNotice) = (secretsAreFor, environment, onNotice)
  }

  // MARK: Opening

  /// Opens the store that `to` names, or the library's own.
  /// - Throws: ``DestinationAddressError`` if `to` names no store; ``UploadError`` if it can't be opened with
  ///   these settings.
  package func open(_ to: String?) async throws -> OpenedStore {
    if let to { return try await open(DestinationAddress(parsing: to)) }
    guard let library else {
      throw DestinationAddressError(
        .empty,
        "with a catalog on a server there is no library to store in: name a store that all machines reach with "
          + "\(setting: .to), such as s3://bucket/prefix")
    }
    return folder(library + "/media", temporaries: library + "/tmp")
  }

  /// Opens a store that the catalog names; nil if it needs a secret, and those at hand are for another one. If it is a
  /// folder, its temporary files are in the library, if there is one.
  /// - Parameter mode: who may read its objects, if it is a folder; nil for what the settings say.
  /// - Throws: `storeUnusable`, also if the current settings or folders make its name lead to a different store.
  package func open(
    _ destination: Destination, mode: FolderModes? = nil
  ) async throws(UploadError) -> OpenedStore? {
    var stores = self
    if let mode { stores.settings.mode = mode }
    do {
      return try await stores.opened(destination)
    } catch {
      throw UploadError(.storeUnusable, (error as? any ReelError)?.text ?? "\(error)")
    }
  }

  private func opened(_ destination: Destination) async throws -> OpenedStore? {
    let address = try DestinationAddress(parsing: destination.name)
    guard await mayHaveSecrets(address, destination) else { return nil }
    let opened =
      if case .folder(let root) = address {
        folder(root, temporaries: library.map { $0 + "/tmp" })
      } else {
        try await open(address)
      }
    let found = opened.uploader.destination
    guard found == destination else {
      throw UploadError(
        .storeUnusable,
        "the catalog names the store \(destination), but that now leads to \(found), a different store, which was "
          + "left alone: " + Self.remedy(address))
    }
    return opened
  }

  /// How to undo what makes a name lead to a different store.
  private static func remedy(_ address: DestinationAddress) -> ErrorMessage {
    switch address {
    case .folder, .command: "put what it names back in its place; links on the way to it are followed"
    case .s3:
      "run it without \(setting: .endpoint), $REEL_ENDPOINT, $AWS_ENDPOINT_URL_S3, $AWS_ENDPOINT_URL and the profile's "
        + "endpoint_url"
    case .firebase: "run it without $STORAGE_EMULATOR_HOST and $FIREBASE_STORAGE_EMULATOR_HOST"
    case .tus: "name its address as the catalog does"
    }
  }

  /// Returns the store with posts that `to` names, by its address or as in the catalog; nil, for all stores, if `to`
  /// is nil.
  package func known(_ to: String?, in catalog: any CatalogExamination) async throws -> [Destination]? {
    guard let to else { return nil }
    return [try await known(to, among: try await catalog.destinations())]
  }

  /// Returns the one of `known` that `name` names, by its address or as in the catalog.
  package func known(_ name: String, among known: [Destination]) async throws -> Destination {
    if let named = known.first(where: { $0.name == name }) { return named }
    let meant = try await open(name).uploader.destination
    guard known.contains(meant) else {
      throw UploadError(
        .storeUnusable,
        "no post was ever stored in \(meant): `reel status` names the stores that this library has used")
    }
    return meant
  }

  // MARK: Kinds

  private func open(_ address: DestinationAddress) async throws -> OpenedStore {
    switch address {
    case .folder(let root): return folder(root, temporaries: nil)
    case .command(let path, let store): return try command(path, store)
    case .s3(let bucket):
      return OpenedStore(
        uploader: uploader(try await self.bucket(bucket)), keepsToRate: true,
        uploadsAtOnce: Self.uploadsToBucket)
    case .tus(let address): return OpenedStore(uploader: try tus(address), keepsToRate: true)
    case .firebase(let address): return try await firebase(address)
    }
  }

  /// The number of uploads to a bucket at once: a small object is one request, and most of its time is the round trip.
  package static let uploadsToBucket = 16

  private func folder(_ root: String, temporaries: String?) -> OpenedStore {
    let uploader = FolderUploader(
      root: root, temporaries: temporaries, publicBaseURL: settings.publicBaseURL, mode: settings.mode,
      lease: settings.lease, onNotice: onNotice)
    return OpenedStore(uploader: uploader, folder: root)
  }

  private func command(_ path: String, _ store: String?) throws -> OpenedStore {
    guard let program = AdapterProgram(path: path, store: store) else {
      throw DestinationAddressError(
        .notAPath,
        "command: names a program, such as command:./adapter, in a folder whose path is UTF-8")
    }
    // Each upload is told its share of the rate, so no more of them may run at once, and hardly fewer should.
    let uploads = settings.uploads ?? min(8, settings.jobs)
    let uploader = CommandUploader(
      program, environment: try adapterEnvironment(), publicBaseURL: settings.publicBaseURL,
      temporaries: try variable("TMPDIR") ?? "/tmp", silence: settings.adapterDeadline,
      limitRate: settings.limitRate.map { max(1, $0.bytesPerSecond / Int64(max(1, uploads))) },
      width: (settings.uploads ?? 8) + 4)
    return OpenedStore(
      uploader: uploader, keepsToRate: true, uploadsAtOnce: settings.limitRate == nil ? nil : uploads)
  }

  /// Returns the environment that an adapter gets.
  private func adapterEnvironment() throws(UploadError) -> AdapterEnvironment {
    let names = settings.adapterVariables
    let passed = try environment { AdapterEnvironment.passes($0, allowing: names) }
    return AdapterEnvironment(of: passed, allowing: names)
  }

  func variables(where isMeant: (String) -> Bool) throws(UploadError) -> [String: String] {
    try environment(isMeant)
  }

  /// Returns the value of the variable `name`; nil if it is not set, or empty.
  func variable(_ name: String) throws(UploadError) -> String? {
    try environment { $0 == name }[name].flatMap { $0.isEmpty ? nil : $0 }
  }

  // MARK: Decorators

  /// Returns the uploader for a run: verified, retried, limited in concurrency, and at the rate in the settings.
  package func decorated(_ opened: OpenedStore) -> any Uploader {
    var uploader = opened.uploader
    if !opened.keepsToRate, let limiter = settings.limiter {
      uploader = RateLimitedUploader(base: uploader, limiter: limiter)
    }
    uploader = VerifyingUploader(base: RetryingUploader(base: uploader))
    if opened.folder == nil { uploader = RefusalCheckingUploader(base: uploader, canary: Self.canary) }
    let traits = uploader.traits
    // Without batches, as many uploads run at once as there are jobs; an uploader that waits for a network would run
    // far more.
    let usual = traits.isLatencyBound && uploader.batches == nil ? settings.jobs : nil
    if let uploads = settings.uploads ?? opened.uploadsAtOnce ?? usual {
      uploader = ConcurrentUploader(base: uploader, uploads: uploads)
    }
    return uploader
  }

  /// The object to try on a store that has refused something. It is a video, as a store may inspect what it gets.
  private static let canary = UploadSource(
    SampleVideo.bytes, contentType: MediaContainer.mp4.contentType)

  // MARK: Secrets

  /// Whether a store that the catalog names may be opened with the secrets at hand. The token of a tus server, the keys
  /// of an S3 endpoint and the variables of an adapter are only for the one that the user has named. A folder needs
  /// none; a service account's key signs for Google alone, whatever the bucket.
  private func mayHaveSecrets(_ address: DestinationAddress, _ destination: Destination) async -> Bool {
    guard needsSecret(address) else { return true }
    guard let secretsAreFor else { return false }
    if secretsAreFor == destination.name { return true }
    guard let named = try? DestinationAddress(parsing: secretsAreFor),
      let holder = await secretHolder(of: named, isNamed: true)
    else { return false }
    return await secretHolder(of: address, isNamed: false) == holder
  }

  private func needsSecret(_ address: DestinationAddress) -> Bool {
    switch address {
    case .folder, .firebase: false
    case .s3: true
    case .tus: (try? variable(Self.tusToken) != nil) ?? true
    case .command: (try? adapterEnvironment().letsThrough) ?? true
    }
  }

  /// Returns who would learn a secret: a server, by its scheme, host and port, or a program; nil if nobody would.
  /// - Parameter isNamed: whether the user wrote the address, so that the settings complete it; false for one in
  ///   the catalog.
  private func secretHolder(of address: DestinationAddress, isNamed: Bool) async -> String? {
    switch address {
    case .folder, .firebase: nil
    case .s3(let bucket): await server(of: bucket, isNamed: isNamed)
    case .tus(let address): TusEndpoint(address)?.origin.description
    case .command(let path, let store): AdapterProgram(path: path, store: store)?.path
    }
  }
}

/// Returns the result of `body`, which makes a connection to `store`.
func connecting<Value>(
  to store: some CustomStringConvertible, _ body: () throws(HTTPFailure) -> Value
) throws(UploadError) -> Value {
  do throws(HTTPFailure) { return try body() } catch { throw UploadError(error, store: store) }
}
