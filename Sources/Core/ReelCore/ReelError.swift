import FoundationEssentials

/// An error that says in one sentence what went wrong and what to do. Its description and its
/// `localizedDescription` are that sentence.
public protocol ReelError: LocalizedError, CustomStringConvertible {
  /// One sentence for people. The wording may change; programs should use the code.
  var message: String { get }
  /// ``message``, with the settings that it names kept as values.
  var text: ErrorMessage { get }
}

extension ReelError {
  /// ``message`` as plain text: it names no setting.
  public var text: ErrorMessage { ErrorMessage(message) }

  /// ``message``.
  public var description: String { message }

  /// ``message``.
  public var errorDescription: String? { message }
}
