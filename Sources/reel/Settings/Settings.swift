import ReelModel

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
  /// Uploads at once.
  var uploads: Int?
  /// How a store that is no folder is reached.
  var store = StoreSettings()
}

/// How a store that is no folder is reached.
struct StoreSettings: Sendable {
  /// Names of variables that a `command:` adapter gets, separated by commas.
  var adapterEnv: String?
  /// Seconds that such an adapter may be silent.
  var adapterDeadline: Double?
}
