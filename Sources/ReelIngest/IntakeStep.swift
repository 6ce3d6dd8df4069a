/// The steps of one file that leave something behind or learn something, in their order (docs/publish.md).
/// A debug build can be told to die right after any of them, which is how the tests prove "exactly once".
public enum IntakeStep: String, Sendable, CaseIterable {
  case opened
  case hashed
  case probed
  case judged
  /// T1 is durable.
  case intended
  case uploaded
  case verified
  /// The post is written down beside its object, in a store that keeps posts.
  case recorded
  /// T2 is durable.
  case published
  /// `post.published` has been told.
  case told
}
