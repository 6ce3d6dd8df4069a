import ReelModel

/// What a list says about videos: a CSV file (RFC 4180, UTF-8) with a header row that names its columns.
///
/// The columns are `path` (from the list's own folder), `caption`, `music`, `author` and `authorName`, in any
/// order and any letter case; `path` must be there, others mean nothing. An empty field says nothing.
public struct CaptionList: Sendable {
  /// A row.
  public struct Entry: Hashable, Sendable {
    /// Where it begins in the list, counted from 1.
    public let line: Int
    /// As the list has it.
    public let path: SourcePath
    /// What it says.
    public let words: PostWords
  }
  /// Every row, in the order of the list.
  public let entries: [Entry]
  private let indices: [AbsolutePath: Int]
  private let workingDirectory: AbsolutePath

  /// Reads the list at `path`. Blocks.
  /// - Throws: `sidecarInvalid` with the line when it breaks a rule or names a path twice; `notFound`,
  ///   `denied` and the like when it can't be read.
  public init(at path: SourcePath) throws(SourceError) {
    try self.init(
      try NamedInput.read(path, upTo: Self.largest), listedAt: path, workingDirectory: .workingDirectory())
  }

  /// 64 MB: a million rows.
  private static let largest = 64 << 20

  init(
    _ bytes: [UInt8], listedAt path: SourcePath, workingDirectory: AbsolutePath
  ) throws(SourceError) {
    let folder = AbsolutePath(path.bytes, from: workingDirectory).parent
    entries = try CaptionRows.entries(bytes)
    self.workingDirectory = workingDirectory
    var indices: [AbsolutePath: Int] = [:]
    for (index, entry) in entries.enumerated() {
      let key = AbsolutePath(entry.path.bytes, from: folder)
      if let other = indices.updateValue(index, forKey: key) {
        throw CaptionRows.invalid(
          entry.line, "names the same file as line \(entries[other].line); leave one out")
      }
    }
    self.indices = indices
  }

  /// The row about `path`, which is as the walk gave it: from the working directory, or absolute.
  public func entry(for path: SourcePath) -> Entry? {
    indices[AbsolutePath(path.bytes, from: workingDirectory)].map { entries[$0] }
  }
}
