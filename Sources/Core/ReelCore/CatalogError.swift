/// Why the catalog could not answer.
public struct CatalogError: ReelError, Hashable, Sendable {
  /// Error codes for programs.
  public enum Code: String, Codable, Sendable, CaseIterable {
    /// It was made by a newer Reel.
    case newerSchema
    /// It is damaged, or not a catalog at all.
    case corrupt
    /// It is gone or empty, in a library that had one.
    case lost
    /// Another process kept it locked for too long.
    case locked
    /// Its disk is full.
    case diskFull
    /// It cannot be opened or written.
    case unusable
    /// It belongs to another user, or others may write to it.
    case notOurs
    /// Another attempt took over the intent.
    case leaseLost
    /// The task was cancelled.
    case cancelled
  }
  /// The code, for programs.
  public let code: Code
  /// What went wrong, with which catalog, and what to do; one sentence for people.
  public let text: ErrorMessage
  /// ``text``, with settings in backquotes.
  public var message: String { text.description }

  /// Creates an error. `message` is shown to people as it stands.
  public init(_ code: Code, _ message: ErrorMessage) {
    self.code = code
    text = message
  }

  /// Creates an error whose message is plain text and names no setting.
  @_disfavoredOverload
  public init(_ code: Code, _ message: String) {
    self.init(code, ErrorMessage(message))
  }
}
