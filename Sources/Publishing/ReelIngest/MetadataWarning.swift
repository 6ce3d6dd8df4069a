import FoundationEssentials
import ReelCore
import ReelSource

/// A probable mistake about a file that does not keep it from being published: in its name, in what a caption list or a
/// sidecar says of it, or that its video can't be watched.
public struct MetadataWarning: Hashable, Sendable {
  /// The warning code, for programs.
  public enum Code: String, Codable, Sendable, CaseIterable {
    /// A row of the caption list names a file that does not exist.
    case captionWithoutFile
    /// A sidecar has no video beside it.
    case sidecarWithoutVideo
    /// A sidecar has unknown keys.
    case sidecarUnknownKey
    /// The file's name suggests that it is unfinished: something precedes or follows a video's extension.
    case nameMayBeUnfinished
    /// No player can show the video without a key.
    case encrypted
  }
  /// The path that the code is about: the file that the row names, the sidecar itself, or the video.
  public let path: SourcePath
  /// The warning code, for programs.
  public let code: Code
  /// What is wrong, and what may have been meant; one sentence for people, without the path.
  public let message: String

  /// Creates a warning. `message` is shown after the path.
  public init(path: SourcePath, code: Code, message: String) {
    self.path = path
    self.code = code
    self.message = message
  }
}

extension MetadataWarning {
  init(missing entry: CaptionList.Entry) {
    self.init(
      path: entry.path, code: .captionWithoutFile,
      message:
        "it is named in line \(entry.line) of the caption list, but does not exist; paths are relative to the list's folder"
    )
  }

  /// Nil for other items.
  init?(_ item: WalkItem) {
    switch item {
    case .orphanSidecar(let path):
      self.init(
        path: path, code: .sidecarWithoutVideo,
        message:
          "it looks like a sidecar, but there is no video of the same name (apart from the extension) beside it"
      )
    case .candidate(let file) where file.mayBeUnfinished:
      self.init(
        path: file.path, code: .nameMayBeUnfinished,
        message:
          "it is ingested, although its name suggests that it is still being written; exclude it if it is unfinished"
      )
    default: return nil
    }
  }

  /// Nil for a video that plays without a key.
  init?(_ media: MediaInfo, of path: SourcePath) {
    guard media.encrypted == true else { return nil }
    self.init(
      path: path, code: .encrypted,
      message:
        "its video is encrypted and can't be watched without a key; a policy can refuse such files "
        + "(encryption.present: error)")
  }

  /// Nil if every key is known.
  init?(_ sidecar: Sidecar.Contents, beside path: SourcePath) {
    guard let first = sidecar.unknownKeys.first else { return nil }
    let known = Sidecar.keys.joined(separator: ", ")
    let hint = NearestWord.nearest(to: first, among: Sidecar.keys).map { "; did you mean \($0)?" }
    let more = sidecar.unknownKeys.count - 1
    self.init(
      path: path, code: .sidecarUnknownKey,
      message:
        "its sidecar (the .json file of the same name beside it) has an unknown key \"\(first.prefix(60))\""
        + (hint ?? "; the known keys are \(known)") + (more > 0 ? " (and \(more) more such keys)" : ""))
  }
}

extension MetadataWarning: Codable {
  /// Writes `path` (and `pathBytes`) and `warning`.
  /// - Throws: what the encoder throws.
  public func encode(to encoder: any Encoder) throws {
    try PathRemark(path: path, code: code, message: message).encode(to: encoder, as: "warning")
  }

  /// Reads what ``encode(to:)`` wrote.
  /// - Throws: `DecodingError`.
  public init(from decoder: any Decoder) throws {
    let remark = try PathRemark<Code>(from: decoder, as: "warning")
    self.init(path: remark.path, code: remark.code, message: remark.message)
  }
}
