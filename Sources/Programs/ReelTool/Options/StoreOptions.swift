import ArgumentParser
import ReelRemoteStorage

/// How a store that is not a folder is reached.
struct StoreOptions: SettingFlags {
  @OptionGroup(title: "Stores over S3 and HTTP") var bucket: BucketOptions
  @OptionGroup(title: "Stores at Firebase") var firebase: FirebaseOptions
  @OptionGroup(title: "Stores on tus servers") var tus: TusOptions
  @OptionGroup(title: "Stores of your own programs") var adapter: AdapterOptions
}

/// How viewers reach a store's objects, for commands that record the addresses of videos.
struct ViewingOptions: SettingFlags {
  @Option(\.publicBaseURL) var publicBaseURL
  @Option(\.presign) var presign
}

/// How objects are stored in a folder.
struct FolderStoreOptions: SettingFlags {
  @Option(\.mode) var mode
}

/// Cloud Storage for Firebase.
struct FirebaseOptions: SettingFlags {
  @Option(\.serviceAccount) var serviceAccount
  @Option(\.project) var project
}

/// A tus server.
struct TusOptions: SettingFlags {
  @Option(\.uploadHosts) var uploadHosts
}

/// A program that acts as a store.
struct AdapterOptions: SettingFlags {
  @Option(\.adapterEnv) var adapterEnv
  @Option(\.adapterDeadline) var adapterDeadline
}

/// How an S3 bucket, or any store over HTTP, is reached.
struct BucketOptions: SettingFlags {
  @Option(\.endpoint) var endpoint
  @Option(\.region) var region
  @Flag(\.pathStyle) var pathStyle
  @Option(\.profile) var profile
  @Option(\.requestChecksums) var requestChecksums
  @Flag(\.conditionalPuts) var conditionalPuts
  @Option(\.credentials) var credentials
  @Option(\.caFile) var caFile
  @Option(\.proxy) var proxy
  @Flag(\.insecureHTTP) var insecureHTTP = false
}

extension CredentialPlace: ExpressibleByArgument {}

/// Which checksums are sent although no operation requires them (AWS SDKs, "Data integrity protections").
enum RequestChecksums: String, CaseIterable, Sendable, ExpressibleByArgument {
  case whenSupported = "when_supported"
  case whenRequired = "when_required"
}
