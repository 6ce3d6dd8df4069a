import ReelCore
import ReelRemoteStorage
import ReelStorage

/// How stores are opened and reached, beside what their addresses say.
package struct StoreSettings: Sendable {
  /// What stands before an object's name in the address that viewers open; nil for the store's own.
  package var publicBaseURL: String?
  /// Seconds for which a bucket's addresses are signed; nil for addresses without a signature.
  package var presign: Int?
  /// Bytes a second for all uploads of a store together; nil for as fast as it goes.
  package var limitRate: ByteRate?
  /// Uploads at once; nil for what is usual with a store.
  package var uploads: Int?
  /// Files in work at once.
  package var jobs: Int

  /// What a folder's files and folders may be read by.
  package var mode = FolderModes.private
  /// How long the temporaries of a process on another machine are left alone; nil for what is usual.
  package var lease: Duration?

  /// Plain http to other machines, too.
  package var allowsPlainHTTP = false
  /// A PEM file with certificates that are trusted beside the system's.
  package var certificates: String?
  /// The proxy's address; nil for the environment's.
  package var proxy: String?

  /// The address of a store that speaks the protocol of S3; nil for what the address, the environment or the profile says.
  package var endpoint: String?
  /// The bucket's region; nil for the environment's or the profile's.
  package var region: String?
  /// Whether the bucket is in the path of a URL; nil for what is usual.
  package var pathStyle: Bool?
  /// The profile in AWS's shared files; nil for the environment's.
  package var profile: String?
  /// Where a bucket's credentials come from.
  package var credentials = CredentialPlace.local
  /// Whether checksums are sent that no operation demands; nil for what the environment or the profile says.
  package var sendsChecksums: Bool?
  /// Whether a bucket is asked to create only what is absent.
  package var sendsConditions = true

  /// The file of a service account's key; nil for the one that the environment names.
  package var serviceAccount: String?
  /// The project whose Firestore keeps the posts; nil for the key's or the environment's.
  package var project: String?

  /// Hosts that a tus server may have the bytes sent to, besides its own.
  package var uploadHosts: [String] = []

  /// Names of variables that a program gets that stores.
  package var adapterVariables: [String] = []
  /// How long it may go without telling anything new.
  package var adapterDeadline = Duration.seconds(60)

  /// Everything as is usual.
  package init(jobs: Int) { self.jobs = jobs }
}

extension StoreSettings {
  /// One for each store and connection: nothing else is held to the rate by it.
  var limiter: RateLimiter? { limitRate.map { RateLimiter(bytesPerSecond: $0.bytesPerSecond) } }

  /// What a connection must be like.
  /// - Parameter certificates: a file that counts where no setting names one.
  /// - Throws: `storeUnusable` for a proxy that can't be one.
  func httpRules(certificates: String? = nil) throws(UploadError) -> HTTPRules {
    let rules = HTTPRules(
      allowsPlainHTTP: allowsPlainHTTP, extraCertificates: self.certificates ?? certificates, proxy: proxy)
    guard rules.knowsProxy else {
      // It may hold a password.
      throw UploadError(
        .storeUnusable, "the proxy's address can't be used; it is written like http://proxy.example:3128")
    }
    return rules
  }

  /// What a bucket's viewers are given.
  var viewing: S3Viewing {
    if let presign { return .presigned(seconds: presign) }
    return publicBaseURL.map { .publicBase($0) } ?? .address
  }
}
