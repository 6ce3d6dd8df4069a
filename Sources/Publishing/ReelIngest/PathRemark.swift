import ReelCore

/// The JSON of a remark about a path rather than a file of the run: `path` (and `pathBytes`), and an object with a code
/// and a message under a key.
struct PathRemark<Code: Codable> {
  let path: SourcePath
  let code: Code
  let message: String

  private struct Body: Codable {
    let code: Code
    let message: String
  }

  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  init(path: SourcePath, code: Code, message: String) {
    (self.path, self.code, self.message) = (path, code, message)
  }

  init(from decoder: any Decoder, as key: String) throws {
    let body = try decoder.container(keyedBy: Key.self).decode(Body.self, forKey: Key(stringValue: key))
    self.init(
      path: try SourcePath(from: try decoder.container(keyedBy: SourcePathCoding.self)), code: body.code,
      message: body.message)
  }

  func encode(to encoder: any Encoder, as key: String) throws {
    var paths = encoder.container(keyedBy: SourcePathCoding.self)
    try path.encode(into: &paths)
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(Body(code: code, message: message), forKey: Key(stringValue: key))
  }
}
