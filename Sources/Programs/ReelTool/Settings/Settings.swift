import FoundationEssentials
import Glibc
import ReelCore
import ReelRemoteStorage
import ReelSandbox
import ReelTerminal

/// Everything that flags, environment and configuration file can set, as one typed value.
/// Nil where nobody said anything, and Reel's own default counts.
struct Settings: Sendable {
  /// The library folder.
  var library: String?
  /// A catalog that several machines share, in the library's place.
  var catalog: CatalogSetting?
  /// The destination, as `--to` takes it.
  var to: String?
  var author: String?
  var authorName: String?
  /// Put before an object's name to make the address that viewers open.
  var publicBaseURL: String?
  /// Octal permissions of stored files, such as `644`.
  var mode: String?
  var jobs: Int?
  /// Characters of an object's name.
  var nameLength: Int?
  /// Where `reel-probe-worker` is.
  var worker: String?
  /// Seconds that reading one file may take.
  var deadline: Double?
  var isolation: IsolationRequest?
  var progress: ProgressStyle?
  /// How much is logged; nil for nothing.
  var logLevel: LogLevel?
  /// Bytes a second for all uploads together, as ``ByteRate`` reads them.
  var limitRate: String?
  /// The largest file that is taken in.
  var maxSize: SizeLimit?
  /// Uploads at once.
  var uploads: Int?
  /// Whether posts get posters, as ``IngestOptions/Posters`` writes it.
  var posters: String?
  /// Pixels of a poster's longer side.
  var posterSize: Int?
  /// What is mended in files before they are published.
  var mend: MendList?
  /// How much of a file at an address may be read to find out what it is.
  var maxRead: ReadLimit?
  /// How a store that is not a folder is reached.
  var store = StoreSettings()
}

/// Where a catalog is that several machines share.
struct CatalogSetting: Sendable {
  /// Such as `postgres://reel@db.example/reel`. It may hold a password.
  let address: String
  /// Whether it stands on the command line, which everybody on the machine can read.
  let isArgument: Bool
}

/// How a store that is not a folder is reached, and what viewers are given of it.
struct StoreSettings: Sendable {
  /// The address of a store that is not Amazon's.
  var endpoint: String?
  var region: String?
  /// Whether the bucket stands in the path, not in the host's name.
  var pathStyle: Bool?
  /// A profile in AWS's shared files.
  var profile: String?
  /// Where credentials come from.
  var credentials: CredentialPlace?
  /// A file with a service account's key (JSON).
  var serviceAccount: String?
  /// The id of the project whose Firestore keeps the posts.
  var project: String?
  /// Certificates in PEM form, trusted beside the system's.
  var caFile: String?
  /// The proxy's address; nil for the one that the environment names.
  var proxy: String?
  /// Plain http to other machines.
  var insecureHTTP: Bool?
  /// Seconds that a signed address is good for; nil for an address without a signature.
  var presign: Int?
  /// Names of variables that a `command:` adapter gets, separated by commas.
  var adapterEnv: String?
  /// Seconds that such an adapter may be silent.
  var adapterDeadline: Double?
  /// Hosts that a tus server may have the bytes sent to, separated by commas.
  var uploadHosts: String?
  /// Which checksums are sent to S3.
  var requestChecksums: RequestChecksums?
  /// Whether S3 is asked to create only what is absent.
  var conditionalPuts: Bool?
}

extension Settings {
  /// These settings, and `other`'s where these say nothing.
  func completed(by other: Settings) -> Settings {
    Settings(
      library: library ?? other.library, catalog: catalog ?? other.catalog, to: to ?? other.to,
      author: author ?? other.author,
      authorName: authorName ?? other.authorName, publicBaseURL: publicBaseURL ?? other.publicBaseURL,
      mode: mode ?? other.mode, jobs: jobs ?? other.jobs, nameLength: nameLength ?? other.nameLength,
      worker: worker ?? other.worker, deadline: deadline ?? other.deadline,
      isolation: isolation ?? other.isolation, progress: progress ?? other.progress,
      logLevel: logLevel ?? other.logLevel,
      limitRate: limitRate ?? other.limitRate, maxSize: maxSize ?? other.maxSize,
      uploads: uploads ?? other.uploads, posters: posters ?? other.posters,
      posterSize: posterSize ?? other.posterSize, mend: mend ?? other.mend,
      maxRead: maxRead ?? other.maxRead,
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
      adapterEnv: adapterEnv ?? other.adapterEnv, adapterDeadline: adapterDeadline ?? other.adapterDeadline,
      uploadHosts: uploadHosts ?? other.uploadHosts,
      requestChecksums: requestChecksums ?? other.requestChecksums,
      conditionalPuts: conditionalPuts ?? other.conditionalPuts)
  }
}

/// The variables of this process. A value that is not UTF-8 would come out of Foundation repaired, and name another
/// place: it is refused where it is asked for.
struct ProcessEnvironment: Sendable {
  private let variables: [String: String]
  /// Names of those that are not UTF-8.
  private let repaired: Set<String>

  /// As they are now.
  static func current() -> ProcessEnvironment {
    let variables = ProcessInfo.processInfo.environment
    let repaired = variables.filter { name, value in
      value.unicodeScalars.contains("\u{FFFD}")
        && getenv(name).flatMap { String(validatingCString: $0) } == nil
    }
    return ProcessEnvironment(variables: variables, repaired: Set(repaired.keys))
  }

  /// The value of `name`; nil when it is not set, or empty.
  /// - Throws: ``CommandFailure`` when it is not UTF-8.
  func text(_ name: String) throws -> String? {
    try texts { $0 == name }[name].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Those whose names are meant.
  /// - Throws: ``CommandFailure`` when one of them is not UTF-8.
  func texts(where isMeant: (String) -> Bool) throws -> [String: String] {
    if let name = repaired.filter(isMeant).min() {
      throw CommandFailure(
        .couldNotRun, "the environment variable \(name) is not UTF-8: set it to a text in UTF-8, or unset it")
    }
    return variables.filter { isMeant($0.key) }
  }
}
