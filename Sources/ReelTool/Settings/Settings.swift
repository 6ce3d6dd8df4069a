import ReelCore

/// Everything that flags, environment and configuration file can set, as one typed value.
/// Nil where nobody said anything, and Reel's own default counts.
struct Settings: Sendable {
  /// The library folder.
  var library: String?
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
  var isolation: String?
  var progress: String?
  /// Bytes a second for all uploads together, as ``ByteRate`` reads them.
  var limitRate: String?
  /// The largest file that is taken in.
  var maxSize: SizeLimit?
  /// Uploads at once.
  var uploads: Int?
  /// How a store that is not a folder is reached.
  var store = StoreSettings()
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
  /// Where credentials come from: `local`, `container`, `instance`.
  var credentials: String?
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
}
