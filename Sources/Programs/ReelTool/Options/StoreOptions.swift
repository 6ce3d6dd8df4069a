import ArgumentParser
import ReelRemoteStorage
import ReelStorage

/// How a store that is not a folder is reached, and what viewers are given of it.
struct StoreOptions: SettingFlags {
  @Option(\.publicBaseURL) var publicBaseURL
  @Option(\.adapterEnv) var adapterEnv
  @Option(\.adapterDeadline) var adapterDeadline
  @Option(\.uploadHosts) var uploadHosts

  @OptionGroup var bucket: BucketOptions

  @Option(\.serviceAccount) var serviceAccount
  @Option(\.project) var project
  @Option(\.presign) var presign
}

/// How a bucket of S3 is reached, and any store over HTTP.
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

/// Which checksums are sent that no operation demands (AWS SDKs, "Data integrity protections").
enum RequestChecksums: String, CaseIterable, Sendable, ExpressibleByArgument {
  case whenSupported = "when_supported"
  case whenRequired = "when_required"
}
