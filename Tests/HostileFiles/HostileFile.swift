/// A file made to do harm, and what Reel may answer to it.
public struct HostileFile: Sendable {
  /// What lies at the file's path.
  public enum Body: Sendable {
    case bytes([UInt8])
    /// These bytes, then a hole, then `tail`; `size` bytes in all.
    case sparse([UInt8], tail: [UInt8] = [], size: Int64)
    case pipe
    case socket
    /// A character device with these numbers; only the superuser can make one.
    case device(major: UInt32, minor: UInt32)
    case link(String)
    case folder
  }
  /// The folder that it lies in.
  public let group: String
  /// Its name in bytes, which may be any but `/` and NUL.
  public let name: [UInt8]
  /// What lies there.
  public let body: Body
  /// `ok`, or the codes of failures; the answer must be one of these. If it is empty, the file must get no answer at
  /// all.
  public let answers: Set<String>
  /// The sample that it was made from, whose width and height an `ok` must then report.
  public let origin: String?

  init(
    _ group: String, _ name: [UInt8], _ body: Body, _ answers: Set<String>, origin: String? = nil
  ) {
    self.group = group
    self.name = name
    self.body = body
    self.answers = answers
    self.origin = origin
  }

  init(
    _ group: String, _ name: String, _ body: Body, _ answers: Set<String>, origin: String? = nil
  ) {
    self.init(group, Array(name.utf8), body, answers, origin: origin)
  }

  /// Its path below the folder of all hostile files, as bytes.
  public var path: [UInt8] { Array(group.utf8) + [UInt8(ascii: "/")] + name }
}

/// Answers that go together. Never right are `crashed`, `sandboxViolation` (Reel's own reader tried something that it
/// may not), and, where no set names them, `timeout` and `implausible`.
enum Answers {
  static let ok: Set = ["ok"]
  static let playlist: Set = ["playlist"]
  static let notMedia: Set = ["notMedia"]
  /// A container whose rules are broken: read as far as it goes, or refused as damaged.
  static let damaged: Set = ["ok", "corrupt", "truncated", "indexMissing"]
  /// A file that asks for far more than it has: as `damaged`, or ended because of what it asks for.
  static let greedy: Set = ["ok", "corrupt", "truncated", "indexMissing", "memoryLimit"]
  /// A file that keeps a processor busy for long: the deadline may end the reading.
  static let slow = greedy.union(["timeout"])
  /// More streams than any video has.
  static let crowded: Set = ["ok", "unsupported", "corrupt"]
}
