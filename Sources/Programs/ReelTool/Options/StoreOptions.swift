import ArgumentParser
import ReelStorage

import ReelRemoteStorage

/// How a store that is not a folder is reached, and what viewers are given of it.
struct StoreOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The prefix of each object's public URL.", valueName: "url"),
    transform: RawArguments.text)
  var publicBaseURL: String?

  @Option(
    help: ArgumentHelp(
      "Environment variables passed to a command: adapter, besides REEL_ADAPTER_*.", valueName: "name,name"),
    transform: RawArguments.text)
  var adapterEnv: String?

  @Option(
    help: ArgumentHelp(
      "Seconds that a command: adapter may go without reporting progress (default: 60).", valueName: "seconds"
    ))
  var adapterDeadline: Double?

  @Option(
    help: ArgumentHelp(
      "Hosts that a tus server may have the bytes sent to, besides its own.", valueName: "host,host"),
    transform: RawArguments.text)
  var uploadHosts: String?

  @OptionGroup var bucket: BucketOptions

  @Option(
    help: ArgumentHelp(
      "For firebase://: the key of a service account (JSON, readable only by you). "
        + "Else $GOOGLE_APPLICATION_CREDENTIALS.", valueName: "file"), completion: .file(),
    transform: RawArguments.place)
  var serviceAccount: String?

  @Option(
    help: ArgumentHelp(
      "For firebase://: the project whose Firestore keeps the posts. Else the key's, $GOOGLE_CLOUD_PROJECT.",
      valueName: "id"), transform: RawArguments.text)
  var project: String?

  @Option(
    help: ArgumentHelp(
      "Give viewers a signed URL that is valid for this many seconds, up to 604800.", valueName: "seconds"))
  var presign: Int?

  func validate() throws {
    if let publicBaseURL, let problem = ObjectAddresses.problem(ofBase: publicBaseURL) {
      throw ValidationError("--public-base-url \(problem).")
    }
    if let adapterDeadline, !(adapterDeadline > 0 && adapterDeadline <= 3600) {
      throw ValidationError("--adapter-deadline must be a number of seconds above 0, up to 3600.")
    }
    if let presign, !(1...604_800).contains(presign) {
      throw ValidationError("--presign must be a number of seconds from 1 to 604800.")
    }
  }
}

/// How a bucket of S3 is reached, and any store over HTTP.
struct BucketOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The address of an S3-compatible store, such as https://minio.example:9000. "
        + "Else $AWS_ENDPOINT_URL_S3, $AWS_ENDPOINT_URL.", valueName: "url"), transform: RawArguments.text)
  var endpoint: String?

  @Option(
    help: ArgumentHelp(
      "The bucket's region. Else $AWS_REGION, the profile's, us-east-1.", valueName: "name"),
    transform: RawArguments.text)
  var region: String?

  @Flag(
    inversion: .prefixedNo,
    help: "Put the bucket in the path of a URL rather than in the host name. Default: with --endpoint.")
  var pathStyle: Bool?

  @Option(
    help: ArgumentHelp("The profile in the AWS shared files. Else $AWS_PROFILE.", valueName: "name"),
    transform: RawArguments.text)
  var profile: String?

  @Option(
    help: ArgumentHelp(
      "Which checksums are sent to S3 besides the signed one: when_supported or when_required, as AWS's own tools call "
        + "it. Else $AWS_REQUEST_CHECKSUM_CALCULATION, the profile's.", valueName: "when"))
  var requestChecksums: RequestChecksums?

  @Flag(
    inversion: .prefixedNo,
    help: "Ask S3 to create only what is absent (If-None-Match). Default: where the store knows that.")
  var conditionalPuts: Bool?

  @Option(
    help:
      "Where credentials come from: the environment and shared files, or the metadata endpoint of a container or a virtual machine (default: local)."
  )
  var credentials: CredentialPlace?

  @Option(
    help: ArgumentHelp(
      "Certificates (PEM) to trust in addition to the system's. Else $AWS_CA_BUNDLE.", valueName: "file"),
    completion: .file(), transform: RawArguments.place)
  var caFile: String?

  @Option(
    help: ArgumentHelp(
      "The proxy for stores over HTTP, such as http://proxy.example:3128. "
        + "Else $https_proxy, $http_proxy, $all_proxy, except for hosts in $no_proxy.", valueName: "url"),
    transform: RawArguments.text)
  var proxy: String?

  @Flag(help: "Allow plain HTTP to another machine, where data can be read and changed in transit.")
  var insecureHTTP = false

  func validate() throws {
    if let endpoint {
      do throws(HTTPAddressError) {
        _ = try HTTPAddress(parsing: endpoint)
      } catch {
        throw ValidationError("--endpoint can't be used: \(error.reason).")
      }
    }
  }
}

extension CredentialPlace: ExpressibleByArgument {}

/// Which checksums are sent that no operation demands (AWS SDKs, "Data integrity protections").
enum RequestChecksums: String, CaseIterable, Sendable, ExpressibleByArgument {
  case whenSupported = "when_supported"
  case whenRequired = "when_required"
}
