/// A value that must not be seen: a key, a token, a signature. Whoever prints it, interpolates it or dumps what holds
/// it gets dots; only ``revealed`` tells it, and stands where a secret leaves this process.
public struct Secret: Hashable, Sendable {
  /// The value itself.
  public let revealed: String

  /// Hides `value`.
  public init(_ value: String) { revealed = value }

  /// Whether there is nothing to hide.
  public var isEmpty: Bool { revealed.isEmpty }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Always the same dots, whatever the length.
  public var description: String { "•••" }

  /// As ``description``.
  public var debugDescription: String { description }

  /// Nothing inside, for `dump`.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
