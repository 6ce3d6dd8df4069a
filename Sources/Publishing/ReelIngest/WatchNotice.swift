import ReelCore

/// A noteworthy fact about a watched folder, or about a file from it.
public struct WatchNotice: Hashable, Sendable {
  /// The kind of notice, for programs.
  public enum Code: String, Codable, Sendable, CaseIterable {
    /// The folder does not exist; `reel watch` waits for it.
    case folderGone
    /// The folder exists again.
    case folderBack
    /// The system can't report changes in the folder, so it is listed periodically.
    case polled
    /// The system lost some change notifications, so everything is examined again.
    case overflowed
    /// A file that became a post, or already was one, was moved to another folder or removed.
    case disposed
    /// A file that did not become a post was moved to another folder.
    case rejected
    /// A file could not be moved or removed, and stays in place.
    case notDisposed
    /// A file could not be processed now, and comes again. Either other files may share the reason, which is then
    /// reported only once, or the file keeps changing.
    case postponed
    /// A file looks truncated, and is examined again later.
    case looksCutOff
    /// A file has not changed for a while but is still open for writing, so it is waited for.
    case stillOpen
    /// A run ended because something it needs could not be used, and is begun again.
    case restarted
    /// The settings were reloaded.
    case reloaded

    /// Whether someone may have to act.
    public var isProblem: Bool {
      switch self {
      case .folderGone, .polled, .notDisposed, .postponed: true
      case .folderBack, .overflowed, .disposed, .rejected, .looksCutOff, .stillOpen, .restarted, .reloaded:
        false
      }
    }
  }
  /// The folder or the file.
  public let path: SourcePath
  /// The kind of notice, for programs.
  public let code: Code
  /// What happened, and what to do; one sentence for people, without the path.
  public let message: String

  /// Creates a notice. `message` is shown after the path.
  public init(path: SourcePath, code: Code, message: String) {
    self.path = path
    self.code = code
    self.message = message
  }
}

extension WatchNotice: Codable {
  /// Writes `path` (and `pathBytes`) and `notice`.
  /// - Throws: what the encoder throws.
  public func encode(to encoder: any Encoder) throws {
    try PathRemark(path: path, code: code, message: message).encode(to: encoder, as: "notice")
  }

  /// Reads what ``encode(to:)`` wrote.
  /// - Throws: `DecodingError`.
  public init(from decoder: any Decoder) throws {
    let remark = try PathRemark<Code>(from: decoder, as: "notice")
    self.init(path: remark.path, code: remark.code, message: remark.message)
  }
}
