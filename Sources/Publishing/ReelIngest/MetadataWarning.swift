import FoundationEssentials
import ReelCore
import ReelSource

/// Something about a file that is most likely a mistake, and does not keep it from being published: its name, what a caption
/// list or a sidecar says of it, or that nobody can watch it.
public struct MetadataWarning: Hashable, Sendable {
  /// For programs.
  public enum Code: String, Codable, Sendable, CaseIterable {
    /// A row of the caption list is about a file that is not there.
    case captionWithoutFile
    /// A sidecar beside no file that could be its video.
    case sidecarWithoutVideo
    /// A sidecar has keys that mean nothing.
    case sidecarUnknownKey
    /// The name of a file says that it may not be done: there is something behind a video's extension, or before it.
    case nameMayBeUnfinished
    /// A video that no player shows without a key.
    case encrypted
  }
  /// The file that the row names; the sidecar; the video that the sidecar is beside; the file that it is about.
  public let path: SourcePath
  /// What it is, for programs.
  public let code: Code
  /// What it is, and what may have been meant; one sentence for people, without the path.
  public let message: String

  /// A warning. `message` is shown behind the path.
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
        "it is named in line \(entry.line) of the caption list, and is not there; paths begin in the list's folder"
    )
  }

  /// Nil for any other item.
  init?(_ item: WalkItem) {
    switch item {
    case .orphanSidecar(let path):
      self.init(
        path: path, code: .sidecarWithoutVideo,
        message:
          "it looks like a sidecar, and there is no video beside it whose name is the same but for the extension"
      )
    case .candidate(let file) where file.mayBeUnfinished:
      self.init(
        path: file.path, code: .nameMayBeUnfinished,
        message:
          "it is ingested, though its name is like those of files that are still being written; leave it out if it is one"
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
        "its video is encrypted: whoever has no key for it sees nothing; a policy can refuse such files "
        + "(encryption.present: error)")
  }

  /// Nil where every key means something.
  init?(_ sidecar: Sidecar.Contents, beside path: SourcePath) {
    guard let first = sidecar.unknownKeys.first else { return nil }
    let known = Sidecar.keys.joined(separator: ", ")
    let hint = NearestWord.nearest(to: first, among: Sidecar.keys).map { "; did you mean \($0)?" }
    let more = sidecar.unknownKeys.count - 1
    self.init(
      path: path, code: .sidecarUnknownKey,
      message:
        "its sidecar (the .json file of the same name beside it) has a key \"\(first.prefix(60))\" that means nothing"
        + (hint ?? "; it may have \(known)") + (more > 0 ? " (and \(more) more such keys)" : ""))
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
