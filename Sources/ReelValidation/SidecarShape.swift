import FoundationEssentials

/// Tells a sidecar from any other JSON file.
package enum SidecarShape {
  private static let keys: Set<String> = ["caption", "music", "author", "authorName"]

  /// Whether the bytes are a JSON object that says nothing but what a sidecar says.
  package static func isSidecar(_ bytes: [UInt8]) -> Bool {
    guard bytes.first(where: { $0 > 0x20 }) == UInt8(ascii: "{") else { return false }
    let found = (try? JSONDecoder().decode(Keys.self, from: Data(bytes)))?.names ?? []
    return !found.isEmpty && found.isSubset(of: keys)
  }

  private struct Keys: Decodable {
    private struct Name: CodingKey {
      let stringValue: String
      let intValue: Int? = nil
      init?(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }
    let names: Set<String>

    init(from decoder: any Decoder) throws {
      names = Set(try decoder.container(keyedBy: Name.self).allKeys.map(\.stringValue))
    }
  }
}
