/// Why the catalog could not answer.
public struct CatalogError: ReelError, Hashable, Sendable {
  /// For programs.
  public enum Code: String, Codable, Sendable, CaseIterable {
    /// Made by a newer Reel.
    case newerSchema
    /// Damaged, or no catalog at all.
    case corrupt
    /// Gone or empty, in a library that had one.
    case lost
    /// Another process kept it locked for too long.
    case locked
    /// No space left on its disk.
    case diskFull
    /// Cannot be opened or written.
    case unusable
    /// Belongs to somebody else, or others may write to it.
    case notOurs
    /// Another attempt took the intent over.
    case leaseLost
    /// The task was cancelled.
    case cancelled
  }
  /// What it is, for programs.
  public let code: Code
  /// What went wrong, with which catalog, and what to do; one sentence for people.
  public let text: ErrorMessage
  /// ``text``, with settings in backquotes.
  public var message: String { text.description }

  /// An error. `message` is shown to people as it stands.
  public init(_ code: Code, _ message: ErrorMessage) {
    self.code = code
    text = message
  }

  /// An error with a message that is text and names no setting.
  @_disfavoredOverload
  public init(_ code: Code, _ message: String) {
    self.init(code, ErrorMessage(message))
  }
}
