import ReelCore
import ReelRemoteStorage
import ReelStorage

extension Stores {
  /// The environment variable that holds the token.
  package static let tusToken = "REEL_TUS_TOKEN"

  /// Opens a tus server. Its token comes from the environment only.
  func tus(_ address: String) throws -> any Uploader {
    guard let endpoint = TusEndpoint(address) else {
      throw DestinationAddressError(
        .notAServer,
        "a tus server's address is where uploads are created, such as tus+https://host/files/, with no user, "
          + "password, query or fragment in it, and a host beyond ASCII as xn--…")
    }
    let rules = try settings.httpRules()
    let token = try variable(Self.tusToken).map { Secret($0) }
    return try connecting(to: endpoint.destination) { () throws(HTTPFailure) in
      TusUploader(
        endpoint, transport: try CurlTransport(rules, limiter: settings.limiter), token: token,
        checkpoints: checkpoints, addresses: TusAddresses(publicBaseURL: settings.publicBaseURL),
        uploadHosts: Set(settings.uploadHosts))
    }
  }
}
