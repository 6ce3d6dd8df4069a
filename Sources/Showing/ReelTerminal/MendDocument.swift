import ReelCore

/// The result of `reel mend` for one file.
package typealias MendDocument = MadeDocument<WrittenMends>

/// What was mended: `"mended": ["faststart"], "file": …, "truncated": false`. If there was nothing to mend, `mended` is
/// empty and `file` is null.
package struct WrittenMends: MadeContent {
  private let done: Set<Mend>
  private let file: SourcePath?
  private let isCutOff: Bool

  /// - Parameters:
  ///   - done: empty if there was nothing to mend.
  ///   - file: the mended file; nil if there is none.
  ///   - isCutOff: whether the end of the file is still missing.
  package init(done: Set<Mend>, file: SourcePath?, isCutOff: Bool = false) {
    (self.done, self.file, self.isCutOff) = (done, file, isCutOff)
  }

  private enum CodingKeys: String, CodingKey { case mended, file, truncated }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(done.map(\.rawValue).sorted(), forKey: .mended)
    try container.encode(file?.text, forKey: .file)
    try container.encode(isCutOff, forKey: .truncated)
  }

  package var words: String {
    let rest = isCutOff ? "; it is cut off: \(Mend.salvage.flag) makes it playable up to there" : ""
    return doneWords + rest
  }

  private var doneWords: String {
    guard let file else { return "nothing to mend" }
    return "\(file.text): \(Mend.allCases.filter(done.contains).map(Self.words).joined(separator: ", "))"
  }

  private static func words(_ mend: Mend) -> String {
    switch mend {
    case .faststart: "index first"
    case .unfragment: "one index for all fragments"
    case .location: "location removed"
    case .privateTags: "private tags removed"
    case .credentials: "Content Credentials removed"
    case .duration: "duration and seek index written"
    case .data: "data tracks removed"
    case .salvage: "playable up to where it was cut off"
    case .rotation: "rotation set"
    case .sampleAspectRatio: "shape of its pixels set"
    case .fileExtension: "extension set right"
    }
  }
}
