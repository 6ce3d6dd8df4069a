/// A store's settled name, such as `file:///srv/media`; in JSON that string. Uniqueness of posts is counted
/// within one destination.
public struct Destination: Hashable, Sendable, CustomStringConvertible {
  /// The name itself. An uploader settles its spelling, so that one store has one name.
  public let name: String

  /// A destination by its settled name. Two spellings are two destinations.
  public init(_ name: String) { self.name = name }

  /// ``name``.
  public var description: String { name }
}

extension Destination: Codable {
  /// Reads a string; any is a name.
  public init(from decoder: any Decoder) throws {
    name = try decoder.singleValueContainer().decode(String.self)
  }

  /// Writes ``name`` as one string.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(name)
  }
}
