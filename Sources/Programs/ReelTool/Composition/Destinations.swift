import FoundationEssentials
import Glibc
import ReelCore
import ReelFeeds
import ReelProcess
import ReelRemoteStorage
import ReelStorage
import ReelTerminal

/// Where an address becomes an uploader: the one place that knows every kind of store.
struct Destinations: Sendable {
  var settings: Settings
  /// The library folder's path: the default destination and its temporaries lie in it. Nil without one, where the
  /// catalog is on a server.
  let library: String?
  /// What uploads go on from.
  let checkpoints: any UploadCheckpoints
  /// The destination that the secrets at hand were given for, as the user named it: `--to`, or that of the settings; nil
  /// when nobody said.
  var secretsAreFor: String?

  init(settings: Settings, library: String?, checkpoints: any UploadCheckpoints) {
    self.settings = settings
    self.library = library
    self.checkpoints = checkpoints
    secretsAreFor = settings.to
  }

  /// A store, and what it is on this machine.
  struct Opened: Sendable {
    /// Without decorators.
    let uploader: any Uploader
    /// The folder that it stores in, when it is one.
    let folder: String?
    /// Whether it holds what it sends to `--limit-rate` itself, or else what it reads is.
    let keepsToRate: Bool
    /// Uploads at once where nobody says how many; nil for as many as there are jobs.
    var uploadsAtOnce: Int?
    /// What writes posts down beside the objects; nil for a store that keeps none. Throws when a setting is missing.
    var recorder: (@Sendable () throws -> any PostRecorder)?

    /// A folder would be made where its disk is not mounted: what is stored there would be hidden when it is again, and is
    /// found by no other machine.
    /// - Throws: ``CommandFailure`` where it has posts, and is missing or empty.
    func checkIsMounted(in catalog: any PostCatalog) async throws {
      guard let folder, !SourcePath(folder).isFolderWithEntries else { return }
      let destination = uploader.destination
      let posts = try await catalog.status().destinations.first { $0.destination == destination }?.posts ?? 0
      // Once more: those that another process has published meanwhile are there.
      if posts == 0 || SourcePath(folder).isFolderWithEntries { return }
      if access(folder, R_OK | X_OK) != 0, errno != ENOENT, errno != ENOTDIR {
        throw CommandFailure(
          .couldNotRun, "the store \(destination) can't be read: \(SystemError.last("access").reason)")
      }
      throw CommandFailure(
        .couldNotRun,
        "the store \(destination) has \(HumanNumber.count(posts, "post", "posts")), and its folder is missing or empty on "
          + "this machine: mount it, or name another store; if it was moved, say so: "
          + CommandHint.ofThisProcess.text("relocate", "\(destination) NEW")
          + "; if it was emptied on purpose, put any file into it")
    }
  }

  /// The store at `to` (`--to`), or the library's own.
  /// - Throws: ``CommandFailure`` when that is not a destination, or a setting can't be used with it.
  func open(_ to: String?) async throws -> Opened {
    if let to { return try await open(try DestinationAddress(parsing: to)) }
    guard let library else {
      throw CommandFailure(
        .usage,
        "with a catalog on a server there is no library to store in: name a store that all machines reach with --to, such "
          + "as s3://bucket/prefix")
    }
    return folder(library + "/media", temporaries: library + "/tmp")
  }

  /// A store that the catalog names. Its temporaries are in the library when it is the library's own.
  /// - Throws: ``SecretWithheld`` when it needs a secret, and those at hand were not given for it; ``CommandFailure`` also
  ///   when today's settings or folders make another store of its name.
  func open(_ destination: Destination) async throws -> Opened {
    let address = try DestinationAddress(parsing: destination.name)
    guard await mayHaveSecrets(address, destination) else { throw SecretWithheld() }
    let opened =
      if case .folder(let root) = address {
        folder(root, temporaries: library.map { $0 + "/tmp" })
      } else {
        try await open(address)
      }
    let found = opened.uploader.destination
    guard found == destination else {
      throw CommandFailure(
        .couldNotRun,
        "the catalog names the store \(destination), but that now leads to \(found), a different store, which was "
          + "left alone: \(Self.remedy(address))")
    }
    return opened
  }

  /// The same; where it is a folder, its objects get these permissions (octal), or those of the settings.
  func open(_ destination: Destination, mode: String?) async throws -> Opened {
    var same = self
    same.settings.mode = mode.flatMap { FolderModes(octal: $0) } ?? settings.mode
    return try await same.open(destination)
  }

  /// What makes another store of a name.
  private static func remedy(_ address: DestinationAddress) -> String {
    switch address {
    case .folder, .command: "put what it names back in its place; links on the way to it are followed"
    case .s3:
      "run it without --endpoint, $REEL_ENDPOINT, $AWS_ENDPOINT_URL_S3, $AWS_ENDPOINT_URL and the profile's endpoint_url"
    case .firebase: "run it without $STORAGE_EMULATOR_HOST and $FIREBASE_STORAGE_EMULATOR_HOST"
    case .tus: "name its address as the catalog does"
    }
  }

  /// The store that `to` names, by its address or as the catalog does, which has posts; nil, for all, where that is nil.
  func known(_ to: String?, in catalog: any CatalogExamination) async throws -> [Destination]? {
    guard let to else { return nil }
    return [try await known(to, among: try await catalog.destinations())]
  }

  /// The one of `known` that `name` names, by its address or as the catalog does.
  func known(_ name: String, among known: [Destination]) async throws -> Destination {
    if let named = known.first(where: { $0.name == name }) { return named }
    let meant = try await open(name).uploader.destination
    guard known.contains(meant) else {
      throw CommandFailure(
        .couldNotRun,
        "no post was ever stored in \(meant): `reel status` names the stores that this library has used")
    }
    return meant
  }

  private func open(_ address: DestinationAddress) async throws -> Opened {
    switch address {
    case .folder(let root): return folder(root, temporaries: nil)
    case .command(let path, let store): return try command(path, store)
    case .s3(let bucket):
      return Opened(
        uploader: try await s3(bucket), folder: nil, keepsToRate: true, uploadsAtOnce: Self.uploadsToS3)
    case .tus(let address): return Opened(uploader: try tus(address), folder: nil, keepsToRate: true)
    case .firebase(let address): return try await firebase(address)
    }
  }

  /// A small object is one request, and most of its time is the way there and back.
  static let uploadsToS3 = 16

  // MARK: Kinds

  private func folder(_ root: String, temporaries: String?) -> Opened {
    let uploader = FolderUploader(
      root: root, temporaries: temporaries, publicBaseURL: settings.publicBaseURL,
      mode: settings.mode ?? .private,
      lease: DebugSteps.lease, onNotice: { LongWait.tellOnce($0) })
    return Opened(uploader: uploader, folder: root, keepsToRate: false)
  }

  private func command(_ path: String, _ store: String?) throws -> Opened {
    guard let program = AdapterProgram(path: path, store: store) else {
      throw CommandFailure(
        .usage, "command: names a program, such as command:./adapter, in a folder whose path is UTF-8")
    }
    // Each is told its share of the rate, so no more may be under way, and hardly fewer.
    let uploads = settings.uploads ?? min(8, AppContext.jobs(settings))
    let uploader = CommandUploader(
      program, environment: try adapterEnvironment(), publicBaseURL: settings.publicBaseURL,
      temporaries: try ProcessEnvironment.current().text("TMPDIR") ?? "/tmp",
      silence: .seconds(settings.adapterDeadline ?? 60),
      limitRate: limiter().map { max(1, $0.bytesPerSecond / Int64(max(1, uploads))) },
      width: (settings.uploads ?? 8) + 4)
    return Opened(
      uploader: uploader, folder: nil, keepsToRate: true,
      uploadsAtOnce: settings.limitRate == nil ? nil : uploads)
  }

  /// What an adapter gets of the environment.
  func adapterEnvironment() throws -> AdapterEnvironment {
    let names = Self.words(of: settings.adapterEnv)
    let passed = try ProcessEnvironment.current().texts { AdapterEnvironment.passes($0, allowing: names) }
    return AdapterEnvironment(of: passed, allowing: names)
  }

  /// Those of a setting that is a list.
  static func words(of text: String?) -> [String] {
    (text ?? "").split(whereSeparator: { $0 == "," || $0 == " " }).map(String.init)
  }

  // MARK: Decorators

  /// The uploader of a run: verified, retried, at most `--uploads` at once, at `--limit-rate`.
  func decorated(_ opened: Opened) throws -> any Uploader {
    var uploader = opened.uploader
    if !opened.keepsToRate, let limiter = limiter() {
      uploader = RateLimitedUploader(base: uploader, limiter: limiter)
    }
    uploader = VerifyingUploader(base: RetryingUploader(base: uploader))
    if opened.folder == nil { uploader = RefusalCheckingUploader(base: uploader, canary: Self.canary) }
    let traits = uploader.traits
    // What is sent one by one has as many under way as there are jobs; what waits for a network would have far more.
    let usual = traits.isLatencyBound && uploader.batches == nil ? AppContext.jobs(settings) : nil
    if let uploads = settings.uploads ?? opened.uploadsAtOnce ?? usual {
      uploader = ConcurrentUploader(base: uploader, uploads: uploads)
    }
    return uploader
  }

  /// What a store is tried with that has refused something: a video, as it may look at what it is given.
  private static let canary = UploadSource(
    SampleVideo.bytes, contentType: MediaContainer.mp4.contentType)

  /// What writes a run's posts down beside their objects, retried; nil for a store that keeps none.
  func decoratedRecorder(_ opened: Opened) throws -> (any PostRecorder)? {
    try opened.recorder.map { RetryingRecorder(base: try $0()) }
  }

  /// Bytes a second for all uploads of a store together; nil for as fast as it goes.
  func limiter() -> RateLimiter? {
    settings.limitRate.map { RateLimiter(bytesPerSecond: $0.bytesPerSecond) }
  }
}

extension Destinations {
  /// What the settings say of connections.
  /// - Parameter certificates: a file that counts where no setting names one.
  func httpRules(certificates: String? = nil) throws -> HTTPRules {
    let rules = HTTPRules(
      allowsPlainHTTP: settings.insecureHTTP ?? false,
      extraCertificates: settings.caFile ?? certificates, proxy: settings.proxy)
    guard rules.knowsProxy else {
      // It may hold a password.
      throw CommandFailure(
        .couldNotRun, "the proxy's address can't be used; it is written like http://proxy.example:3128")
    }
    return rules
  }
}

/// What `body` gives, which makes a connection to `store`.
func connecting<Value>(
  to store: some CustomStringConvertible, _ body: () throws(HTTPFailure) -> Value
) throws(UploadError) -> Value {
  do throws(HTTPFailure) { return try body() } catch { throw UploadError(error, store: store) }
}

/// A store of the catalog needs a secret, and those at hand were not given for it.
struct SecretWithheld: Error, CustomStringConvertible {
  var description: String {
    "it needs credentials, and those that are set may be for another store: if they are for this one, name it with --to"
  }
}

extension Destinations {
  /// Whether a store that the catalog names may be opened with the secrets at hand: the token of one tus server, the keys
  /// of one S3 endpoint and the variables of one adapter are for that one, which the user has named. A folder needs none;
  /// a service account's key signs for Google alone, whichever bucket it is.
  func mayHaveSecrets(_ address: DestinationAddress, _ destination: Destination) async -> Bool {
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
    case .tus: ProcessInfo.processInfo.environment[Self.tusToken]?.isEmpty == false
    case .command: (try? adapterEnvironment().letsThrough) ?? true
    }
  }

  /// Who is told a secret: a server, by its scheme, host and port, or a program; nil for nobody.
  /// - Parameter isNamed: the user wrote the address, and it is completed by the settings; not one of the catalog.
  private func secretHolder(of address: DestinationAddress, isNamed: Bool) async -> String? {
    switch address {
    case .folder, .firebase: nil
    case .s3(let bucket): await s3Server(of: bucket, isNamed: isNamed)
    case .tus(let address): tusServer(of: address)
    case .command(let path, let store): AdapterProgram(path: path, store: store)?.path
    }
  }
}
