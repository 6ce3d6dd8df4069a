import ReelCore

/// Something about a watched folder, or about a file that it gave, that is worth knowing.
public struct WatchNotice: Hashable, Sendable {
  /// For programs.
  public enum Code: String, Codable, Sendable, CaseIterable {
    /// The folder is not there: it is waited for.
    case folderGone
    /// The folder is there again.
    case folderBack
    /// The system does not tell what is written to the folder: it is listed again and again.
    case polled
    /// The system told less than has happened: everything is looked at again.
    case overflowed
    /// A file that became a post, or was one, went to another folder, or was removed.
    case disposed
    /// A file that is no post went to another folder.
    case rejected
    /// A file could not be moved or removed, and stays.
    case notDisposed
    /// A file could not be taken in now, and comes again: for a reason that other files may share, for which no other is
    /// told then, or as it never rests.
    case postponed
    /// A file looks cut off, and is looked at again later.
    case looksCutOff
    /// A file has not changed for a while, and somebody has it open for writing: it is waited for.
    case stillOpen
    /// A run ended because something that it needs could not be used: it is begun again.
    case restarted
    /// The settings were read again.
    case reloaded

    /// Whether somebody may have to do something.
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
  /// What it is, for programs.
  public let code: Code
  /// What it is, and what to do; one sentence for people, without the path.
  public let message: String

  /// A notice. `message` is shown behind the path.
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
