/// tus' `Upload-Metadata`: keys with values in base64, separated by commas (tus 1.0, creation).
struct UploadMetadata: Hashable, Sendable {
  /// Longer headers are refused, because they are stored with the upload.
  private static let longest = 8_192
  private(set) var values: [String: String] = [:]

  /// - Throws: a 400 for invalid metadata: a key that occurs twice, a value that is not Base64.
  init(parsing header: String) throws(Problem) {
    guard header.utf8.count <= Self.longest else {
      throw .badRequest("Upload-Metadata is longer than \(Self.longest) bytes")
    }
    for pair in header.split(separator: ",") {
      let parts = pair.split(separator: " ", omittingEmptySubsequences: true)
      guard let key = parts.first, parts.count <= 2 else {
        throw .badRequest("Upload-Metadata has a pair that is not a key and a value")
      }
      guard let value = Base64.decode(parts.count == 2 ? parts[1] : "") else {
        throw .badRequest("the value of \(key) in Upload-Metadata is not base64")
      }
      guard values.updateValue(String(decoding: value, as: UTF8.self), forKey: String(key)) == nil else {
        throw .badRequest("Upload-Metadata has \(key) twice")
      }
    }
  }

  subscript(_ key: String) -> String? { values[key] }
}
