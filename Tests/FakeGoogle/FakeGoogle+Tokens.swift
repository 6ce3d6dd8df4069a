import Foundation
import ReelHTTPFakes

extension FakeGoogle {
  /// RFC 7523 as Google implements it: the assertion must be signed with the account's key, recent, and meant for this
  /// address.
  func giveToken(_ request: ReceivedRequest, _ state: inout State) -> ServerAction {
    var form = URLComponents()
    form.percentEncodedQuery = String(decoding: request.body, as: UTF8.self)
    let fields = Dictionary(
      (form.queryItems ?? []).map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { first, _ in first })
    guard request.method == "POST", fields["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer",
      let objection = objection(to: fields["assertion"] ?? "") as String?
    else { return .json(["error": "unsupported_grant_type"], status: 400) }
    guard objection.isEmpty else {
      return .json(
        ["error": "invalid_grant", "error_description": "Invalid JWT: \(objection)"], status: 400)
    }
    state.tokensGiven += 1
    let token = "ya29.t0ken-\(state.tokensGiven)-\(UUID().uuidString)"
    state.tokens[token] = 0
    return .json(["access_token": token, "expires_in": 3600, "token_type": "Bearer"])
  }

  private func objection(to assertion: String) -> String {
    let parts = assertion.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Self.object(parts[0]), let claims = Self.object(parts[1]),
      let signature = Self.bytes(parts[2])
    else { return "no JWT" }
    guard header["alg"] as? String == "RS256", header["typ"] as? String == "JWT",
      header["kid"] as? String == TestKey.id
    else { return "header" }
    guard key.isSignature(Array(signature), of: Array("\(parts[0]).\(parts[1])".utf8)) else {
      return "Invalid JWT Signature."
    }
    let now = Int(Date().timeIntervalSince1970)
    guard let issued = claims["iat"] as? Int, let end = claims["exp"] as? Int, end - issued <= 3600,
      abs(issued - now) < 300
    else { return "Check your iat and exp values" }
    guard claims["iss"] as? String == Self.email, claims["aud"] as? String == "\(origin)/token" else {
      return "issuer or audience"
    }
    let scopes = Set((claims["scope"] as? String ?? "").split(separator: " "))
    return scopes.contains("https://www.googleapis.com/auth/devstorage.read_write")
      && scopes.contains("https://www.googleapis.com/auth/datastore") ? "" : "scope"
  }

  private static func object(_ text: Substring) -> [String: Any]? {
    bytes(text).flatMap { try? JSONSerialization.jsonObject(with: $0) as? [String: Any] }
  }

  /// Base64 for URLs, without padding (RFC 7515, 2).
  private static func bytes(_ text: Substring) -> Data? {
    let plain = text.replacing("-", with: "+").replacing("_", with: "/")
    return Data(base64Encoded: plain + String(repeating: "=", count: (4 - plain.count % 4) % 4))
  }
}

/// A service account's key, generated for each run of the tests.
package enum TestKey {
  package static let id = "5f1e0d"
  // Generating a key of 2048 bits does not fail.
  package static let key: TestRSAKey = {
    do { return try TestRSAKey(bits: 2048) } catch { preconditionFailure("\(error)") }
  }()
  package static var pem: String { key.pem }

  /// The JSON of a key file.
  package static func file(_ origin: String, changing changes: [String: Any?] = [:]) -> [UInt8] {
    var fields: [String: Any] = [
      "type": "service_account", "project_id": FakeGoogle.project, "private_key_id": id,
      "private_key": pem, "client_email": FakeGoogle.email, "client_id": "1234",
      "auth_uri": "https://accounts.google.com/o/oauth2/auth", "token_uri": origin + "/token",
    ]
    for (name, value) in changes { fields[name] = value }
    return Array((try? JSONSerialization.data(withJSONObject: fields)) ?? Data())
  }
}
