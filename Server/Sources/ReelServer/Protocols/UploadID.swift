/// The name of an upload: 128 random bits that nobody can guess, so whoever knows them may resume the upload.
struct UploadID: Hashable, Sendable, Codable, CustomStringConvertible {
  /// 32 lower-case hexadecimal digits: also the name of its folder.
  let description: String

  /// Nil for any other text, so that no path can be taken for a name.
  init?(_ text: some StringProtocol) {
    guard text.utf8.count == 32,
      text.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
    else { return nil }
    description = String(text)
  }

  /// Creates a random one.
  init() {
    let digits = Array("0123456789abcdef".utf8)
    let bits = UInt128.random(in: 0 ... .max)
    description = String(unsafeUninitializedCapacity: 32) { text in
      for place in 0..<32 { text[place] = digits[Int(truncatingIfNeeded: bits >> (4 * place)) & 15] }
      return 32
    }
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let id = UploadID(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "no upload has such a name")
    }
    self = id
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
