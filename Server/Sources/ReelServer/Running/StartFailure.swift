/// Why a server can't be started: one sentence for the user who starts it.
public struct StartFailure: Error, CustomStringConvertible {
  /// The sentence.
  public let description: String

  init(_ description: String) { self.description = description }
}
