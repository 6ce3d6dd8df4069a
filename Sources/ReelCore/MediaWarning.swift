/// Something in a file that contradicts something else in it, or that it does not hold itself. The facts beside it are what is believed.
public struct MediaWarning: Hashable, Sendable, Codable {
  /// For programs.
  public enum Code: String, Codable, Sendable, CaseIterable {
    /// The header gives the pictures another size than they have.
    case sizeMismatch
    /// What the header cuts off the pictures at their edges leaves nothing of them; they are taken whole.
    case croppingMismatch
    /// The display matrix has no angle.
    case rotationUnknown
    /// The header gives another duration than the content has, or one that cannot be meant.
    case durationMismatch
    /// The video is in a codec that this FFmpeg does not know.
    case codecUnknown
    /// The edit list hides every sample of the video.
    case samplesHidden
    /// The file ends before its own account says.
    case truncated
    /// It is a part of a chain of Matroska files, or its chapters play parts of others.
    case linkedSegments
  }
  /// What it is, for programs.
  public let code: Code
  /// What is wrong, about "it"; one sentence for people.
  public let message: String

  /// A warning. `code` stays as it is, `message` may be worded anew.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }
}
