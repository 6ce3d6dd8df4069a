import ArgumentParser
import ReelStorage

import ReelRemoteStorage

/// How a store that is not a folder is reached, and what viewers are given of it.
struct StoreOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Put before each object's name to make the address that viewers open.", valueName: "url"),
    transform: RawArguments.text)
  var publicBaseURL: String?

  @Option(
    help: ArgumentHelp(
      "Variables that a command: adapter gets beside REEL_ADAPTER_*.", valueName: "name,name"),
    transform: RawArguments.text)
  var adapterEnv: String?

  @Option(
    help: ArgumentHelp(
      "Seconds that a command: adapter may tell nothing new (default: 60).", valueName: "seconds"))
  var adapterDeadline: Double?

  @Option(
    help: ArgumentHelp(
      "The address of a store that speaks S3 and is not Amazon's, such as https://minio.example:9000. "
        + "Else $AWS_ENDPOINT_URL_S3, $AWS_ENDPOINT_URL.", valueName: "url"), transform: RawArguments.text)
  var endpoint: String?

  @Option(
    help: ArgumentHelp(
      "The bucket's region. Else $AWS_REGION, the profile's, us-east-1.", valueName: "name"),
    transform: RawArguments.text)
  var region: String?

  @Flag(
    inversion: .prefixedNo,
    help: "Put the bucket into the path of an address, not into the host's name. Default: with --endpoint.")
  var pathStyle: Bool?

  @Option(
    help: ArgumentHelp("The profile in AWS's shared files. Else $AWS_PROFILE.", valueName: "name"),
    transform: RawArguments.text)
  var profile: String?

  @Option(
    help:
      "Where the store's credentials come from: environment and shared files, or the endpoint of a container or a virtual machine (default: local)."
  )
  var credentials: CredentialsChoice?

  @Option(
    help: ArgumentHelp(
      "For firebase://: the key of a service account (JSON, readable by you alone). "
        + "Else $GOOGLE_APPLICATION_CREDENTIALS.", valueName: "file"), transform: RawArguments.place)
  var serviceAccount: String?

  @Option(
    help: ArgumentHelp(
      "For firebase://: the project whose Firestore keeps the posts. Else the key's, $GOOGLE_CLOUD_PROJECT.",
      valueName: "id"), transform: RawArguments.text)
  var project: String?

  @Option(
    help: ArgumentHelp(
      "Certificates (PEM) to trust beside the system's. Else $AWS_CA_BUNDLE.", valueName: "file"),
    transform: RawArguments.place)
  var caFile: String?

  @Option(
    help: ArgumentHelp(
      "The proxy to reach a store over HTTP by, such as http://proxy.example:3128. "
        + "Else $https_proxy, $http_proxy, $all_proxy, but for hosts in $no_proxy.", valueName: "url"),
    transform: RawArguments.text)
  var proxy: String?

  @Flag(help: "Allow plain http to another machine: what is sent can be read and changed on its way.")
  var insecureHTTP = false

  @Option(
    help: ArgumentHelp(
      "Give viewers a signed address that is good for so many seconds, up to 604800.", valueName: "seconds"))
  var presign: Int?

  func validate() throws {
    if let endpoint {
      do throws(HTTPAddressError) {
        _ = try HTTPAddress(parsing: endpoint)
      } catch {
        throw ValidationError("--endpoint can't be used: \(error.reason).")
      }
    }
    if let publicBaseURL, let problem = ObjectAddresses.problem(ofBase: publicBaseURL) {
      throw ValidationError("--public-base-url \(problem).")
    }
    if let adapterDeadline, !(adapterDeadline > 0 && adapterDeadline <= 3600) {
      throw ValidationError("--adapter-deadline is a number of seconds above 0, up to 3600.")
    }
    if let presign, !(1...604_800).contains(presign) {
      throw ValidationError("--presign is a number of seconds from 1 to 604800.")
    }
  }
}

enum CredentialsChoice: String, ExpressibleByArgument, CaseIterable {
  case local, container, instance
}
