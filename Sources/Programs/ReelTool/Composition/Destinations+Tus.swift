import ReelCore
import ReelRemoteStorage

extension Destinations {
  /// The variable of the token.
  static let tusToken = "REEL_TUS_TOKEN"

  /// Who would hear the token; nil for what is not a tus server's address.
  func tusServer(of address: String) -> String? { TusEndpoint(address)?.origin.description }

  /// An uploader for a tus server. Its token comes from the environment alone.
  func tus(_ address: String) throws -> any Uploader {
    guard let endpoint = TusEndpoint(address) else {
      throw CommandFailure(
        .usage,
        "a tus server's address is where uploads are created, such as tus+https://host/files/, with no user, "
          + "password, query or fragment in it, and a host beyond ASCII as xn--…")
    }
    let rules = try httpRules()
    let token = try ProcessEnvironment.current().text(Self.tusToken).map { Secret($0) }
    let limiter = self.limiter()
    return try connecting(to: endpoint.destination) { () throws(HTTPFailure) in
      TusUploader(
        endpoint, transport: try CurlTransport(rules, limiter: limiter), token: token,
        checkpoints: checkpoints,
        addresses: TusAddresses(publicBaseURL: settings.publicBaseURL),
        uploadHosts: Set(Self.words(of: settings.uploadHosts)))
    }
  }
}
