import FoundationEssentials

/// The address of a file on the web: `https://host/path?query`. What stands behind the question mark may be a signature:
/// it is sent, and told to nobody.
package struct WebAddress: Sendable {
  /// Where to connect.
  let origin: HTTPOrigin
  /// Percent-encoded; begins with a slash.
  let path: String
  /// With its question mark; empty where there is none.
  let query: Secret

  /// - Throws: ``HTTPAddressError`` when it is something else, or holds a password or a fragment. The address is not repeated.
  package init(parsing text: String) throws(HTTPAddressError) {
    let halves = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard !text.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F }) else {
      throw HTTPAddressError("it holds white space or a control character: write it percent-encoded")
    }
    guard !text.contains("#") else { throw HTTPAddressError("it holds a fragment (#): leave it out") }
    let address = try HTTPAddress(parsing: String(halves[0]))
    origin = address.origin
    // A slash at the end belongs to the name.
    let path = URLComponents(string: String(halves[0]))?.percentEncodedPath ?? ""
    self.path = path.isEmpty ? "/" : path
    query = Secret(halves.count > 1 ? "?" + halves[1] : "")
  }

  /// What is asked for, secrets and all.
  var target: String { path + query.revealed }

  /// As it is told.
  package var shown: String { origin.description + path }

  /// The query without what only signs it, and changes each time: Amazon's, Google's, CloudFront's and Azure's.
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
