import ReelCore
import ReelRemoteStorage
import ReelStorage

/// How stores are opened and reached, in addition to what their addresses say.
package struct StoreSettings: Sendable {
  /// The prefix of an object's name in the address that viewers open; nil for the store's own.
  package var publicBaseURL: String?
  /// The number of seconds for which a bucket's addresses are signed; nil for addresses without a signature.
  package var presign: Int?
  /// The limit in bytes a second for all uploads to a store together; nil for none.
  package var limitRate: ByteRate?
  /// The number of uploads at once; nil for the store's default.
  package var uploads: Int?
  /// The number of files processed at once.
  package var jobs: Int

  /// Who may read the files and folders of a folder store.
  package var mode = FolderModes.private
  /// How long the temporary files of a process on another machine are left alone; nil for the default.
  package var lease: Duration?

  /// Whether plain http is allowed to other machines, too.
  package var allowsPlainHTTP = false
  /// A PEM file with certificates that are trusted in addition to the system's.
  package var certificates: String?
  /// The proxy's address; nil for the one in the environment.
  package var proxy: String?

  /// The address of an S3-compatible store; nil for what the destination, the environment or the profile says.
  package var endpoint: String?
  /// The bucket's region; nil for that of the environment or the profile.
  package var region: String?
  /// Whether the bucket is in the path of a URL; nil for the default.
  package var pathStyle: Bool?
  /// The profile in AWS's shared files; nil for the one in the environment.
  package var profile: String?
  /// Where a bucket's credentials come from.
  package var credentials = CredentialPlace.local
  /// Whether checksums are sent that no operation requires; nil for what the environment or the profile says.
  package var sendsChecksums: Bool?
  /// Whether a bucket is asked to create objects only where none exists.
  package var sendsConditions = true

  /// The file of a service account's key; nil for the one named in the environment.
  package var serviceAccount: String?
  /// The project whose Firestore keeps the posts; nil for that of the key or the environment.
  package var project: String?

  /// The hosts, besides its own, to which a tus server may direct the bytes.
  package var uploadHosts: [String] = []

  /// The names of environment variables that an adapter gets.
  package var adapterVariables: [String] = []
  /// How long an adapter may go without reporting progress.
  package var adapterDeadline = Duration.seconds(60)

  /// Sets everything but `jobs` to its default.
  package init(jobs: Int) { self.jobs = jobs }
}

extension StoreSettings {
  /// A new limiter for each store and connection: nothing else shares its rate.
  var limiter: RateLimiter? { limitRate.map { RateLimiter(bytesPerSecond: $0.bytesPerSecond) } }

  /// Returns the rules for connections.
  /// - Parameter certificates: a file to use if no setting names one.
  /// - Throws: `storeUnusable` if the proxy's address is not valid.
  func httpRules(certificates: String? = nil) throws(UploadError) -> HTTPRules {
    let rules = HTTPRules(
      allowsPlainHTTP: allowsPlainHTTP, extraCertificates: self.certificates ?? certificates, proxy: proxy)
    guard rules.knowsProxy else {
      // The address itself is not repeated, as it may contain a password.
      throw UploadError(
        .storeUnusable, "the proxy's address can't be used; it is written like http://proxy.example:3128")
    }
    return rules
  }

  /// The kind of address that viewers of a bucket's objects get.
  var viewing: S3Viewing {
    if let presign { return .presigned(seconds: presign) }
    return publicBaseURL.map { .publicBase($0) } ?? .address
  }
}
