import FoundationEssentials

/// The address of a file on the web: `https://host/path?query`. The query may contain a signature: it is sent, and
/// never shown.
package struct WebAddress: Sendable {
  /// The origin to connect to.
  let origin: HTTPOrigin
  /// The path, percent-encoded; begins with a slash.
  let path: String
  /// The query with its question mark; empty if there is none.
  let query: Secret

  /// - Throws: ``HTTPAddressError`` if it is something else, or contains a user, a password or a fragment. The address
  ///   is not repeated.
  package init(parsing text: String) throws(HTTPAddressError) {
    let halves = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard !text.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F }) else {
      throw HTTPAddressError("it holds white space or a control character: write it percent-encoded")
    }
    guard !text.contains("#") else { throw HTTPAddressError("it holds a fragment (#): leave it out") }
    let address = try HTTPAddress(parsing: String(halves[0]))
    origin = address.origin
    // A trailing slash belongs to the name.
    let path = URLComponents(string: String(halves[0]))?.percentEncodedPath ?? ""
    self.path = path.isEmpty ? "/" : path
    query = Secret(halves.count > 1 ? "?" + halves[1] : "")
  }

  /// The target of a request, including secrets.
  var target: String { path + query.revealed }

  /// The address as it may be shown.
  package var shown: String { origin.description + path }

  /// The query without the parameters that only sign it, and change each time: Amazon's, Google's, CloudFront's
  /// and Azure's.
  var unsignedQuery: String {
    let parameters = query.revealed.dropFirst().split(separator: "&")
    let name = { (parameter: Substring) in parameter.prefix { $0 != "=" }.lowercased() }
    let names = Set(parameters.map(name))
    var signing: Set<String> = []
    if names.contains("signature") {
      signing = ["signature", "expires", "policy", "key-pair-id", "awsaccesskeyid", "googleaccessid"]
    } else if names.isSuperset(of: ["sig", "sv"]) {
      signing = [
        "sig", "se", "st", "sp", "sv", "sr", "spr", "sip", "skoid", "sktid", "skt", "ske", "sks", "skv",
      ]
    }
    return parameters.filter {
      let name = name($0)
      return !signing.contains(name) && !name.hasPrefix("x-amz-") && !name.hasPrefix("x-goog-")
    }.joined(separator: "&")
  }
}
