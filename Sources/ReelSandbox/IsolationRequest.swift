/// How far the reading of strangers' files is confined (`--isolation`).
public enum IsolationRequest: String, Codable, Sendable, CaseIterable {
  /// As far as the kernel can: what that is, is recorded with each post.
  case auto
  /// Landlock and system call filter both, and a fresh process for each file; refuses to run with less.
  case strict
  /// Not at all, for debugging.
  case none
}
