import FoundationEssentials

/// An error that says in one sentence what went wrong and what to do. It prints as that sentence, which is its
/// `localizedDescription`, too.
public protocol ReelError: LocalizedError, CustomStringConvertible {
  /// One sentence for people. It may be worded anew; programs go by the code.
  var message: String { get }
}

extension ReelError {
  /// ``message``.
  public var description: String { message }

  /// ``message``.
  public var errorDescription: String? { message }
}

/// Messages about a file do not name it, and often speak of it as "it".
package enum Sentence {
  /// "it is an HLS playlist" becomes "notes.mp4 is an HLS playlist"; others follow the name and a colon.
  package static func naming(_ name: String, _ message: String) -> String {
    if message.hasPrefix("it ") { return name + message.dropFirst(2) }
    return message.hasPrefix(name) ? message : "\(name): \(message)"
  }
}
