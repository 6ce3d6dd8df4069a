import FoundationEssentials
import Glibc
import ReelCore

/// What `clip.json` beside `clip.mp4` says about it: `caption`, `music`, `author`, `authorName`, each a
/// string or null.
///
/// It is found by the video's name with its extension replaced (a name without one gets it added);
/// `clip.mp4.json` is not a sidecar. It comes from the same stranger as its video: it is opened like one,
/// through no link, and read up to ``largest`` bytes. Keys that are not known here mean nothing.
public enum Sidecar {
  /// Bytes.
  public static let largest = 64 * 1024

  /// The words beside `file`, or nil when there is no sidecar. Blocks.
  ///
  /// - Parameter trustAuthor: whether its author counts (`--trust-sidecars`); otherwise that is left out.
  /// - Throws: `sidecarInvalid` when there is one and it can't be used; the message says why.
  public static func metadata(beside file: FoundFile, trustAuthor: Bool) throws(SourceError) -> PostMetadata?
  {
    let name = name(for: file.path.lastComponent.bytes)
    guard name != file.path.lastComponent.bytes, let bytes = try read(name, in: file.directory) else {
      return nil
    }
    let words = try metadata(in: bytes)
    return trustAuthor ? words : PostMetadata(caption: words.caption, music: words.music)
  }

  static func name(for video: [UInt8]) -> [UInt8] {
    let dot = video.lastIndex(of: UInt8(ascii: ".")) ?? 0
    return (dot > 0 ? Array(video[..<dot]) : video) + Array(".json".utf8)
  }

  private static func read(_ name: [UInt8], in directory: DirectoryHandle) throws(SourceError) -> [UInt8]? {
    do throws(SourceError) {
      let bytes = try directory.find(name).openRegular().head(largest + 1)
      guard bytes.count <= largest else { throw SourceError(.sidecarInvalid, "it is larger than 64 KB") }
      return bytes
    } catch {
      // A name that grew too long by `.json` names no file.
      guard error.code != .notFound, error.code != .invalidName else { return nil }
      // No fault of the sidecar's.
      if error.code == .tooManyOpenFiles || error.code == .unreadable { throw error }
      throw invalid("can't be read: \(error.message)")
    }
  }

  /// - Throws: `sidecarInvalid`.
  static func metadata(in bytes: [UInt8]) throws(SourceError) -> PostMetadata {
    guard String(validating: bytes, as: UTF8.self) != nil else {
      throw invalid("is not UTF-8; save it as UTF-8")
    }
    do {
      let content = try JSONDecoder().decode(Content.self, from: Data(bytes))
      return PostMetadata(
        authorID: said(content.author), authorName: said(content.authorName), caption: said(content.caption),
        music: said(content.music))
    } catch DecodingError.typeMismatch(_, let context) {
      throw invalid(wrongType(at: context.codingPath))
    } catch {
      throw invalid("is not valid JSON; check its quotes, commas and brackets")
    }
  }

  private struct Content: Decodable {
    let caption: String?
    let music: String?
    let author: String?
    let authorName: String?
  }

  /// Nothing, where it is empty.
  private static func said(_ words: String?) -> String? {
    words?.isEmpty == true ? nil : words
  }

  private static func wrongType(at path: [any CodingKey]) -> String {
    guard let key = path.last?.stringValue else {
      return #"is not a JSON object; it should look like {"caption": "…"}"#
    }
    return "has something else than a text at \"\(key)\"; put it in quotes, or leave the key out"
  }

  private static func invalid(_ problem: String) -> SourceError {
    SourceError(.sidecarInvalid, "its sidecar (the .json file of the same name beside it) \(problem)")
  }
}
