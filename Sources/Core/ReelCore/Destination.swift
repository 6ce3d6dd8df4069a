/// The canonical name of a store, such as `file:///srv/media`; a string in JSON. Posts are unique within one
/// destination.
public struct Destination: Hashable, Sendable, CustomStringConvertible {
  /// The name itself. The uploader normalizes its spelling, so that each store has one name.
  public let name: String

  /// Creates a destination from its canonical name. Two spellings are two destinations.
  public init(_ name: String) { self.name = name }

  /// ``name``.
  public var description: String { name }
}

extension Destination: Codable {
  /// Reads a string; any string is a name.
  public init(from decoder: any Decoder) throws {
    name = try decoder.singleValueContainer().decode(String.self)
  }

  /// Writes ``name`` as one string.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(name)
  }
}
