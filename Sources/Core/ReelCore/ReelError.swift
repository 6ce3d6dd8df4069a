import FoundationEssentials

/// An error that says in one sentence what went wrong and what to do. It prints as that sentence, which is its
/// `localizedDescription`, too.
public protocol ReelError: LocalizedError, CustomStringConvertible {
  /// One sentence for people. It may be worded anew; programs go by the code.
  var message: String { get }
  /// ``message``, with the settings that it names as values.
  var text: ErrorMessage { get }
}

extension ReelError {
  /// ``message`` as it stands: it names no setting.
  public var text: ErrorMessage { ErrorMessage(message) }

  /// ``message``.
  public var description: String { message }

  /// ``message``.
  public var errorDescription: String? { message }
}
