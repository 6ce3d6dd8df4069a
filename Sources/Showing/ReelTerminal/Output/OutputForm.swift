import Glibc
import ReelCore
import ReelSource

/// An output path that is refused because writing there would destroy something or can't work.
package struct OutputRefusal: ReelError {
  package let message: String

  package init(_ message: String) { self.message = message }
}

/// The kind of file that a command writes to a path of the user's choice. It may replace an earlier file of its kind,
/// but nothing else: a video or a lock that a glob or a typing error names instead stays intact.
package struct OutputForm {
  /// The name of the kind, for use in a sentence.
  private let noun: String
  /// The possible beginnings of such a file, in lower case and without white space; empty for plain text.
  private let beginnings: [String]
  /// Text near the end of such a plain text; nil for any text.
  private let end: String?

  /// - Parameters:
  ///   - beginnings: the possible beginnings of such a file, in lower case and without white space; empty for plain
  ///     text.
  ///   - end: text near the end of such a plain text; nil for any text.
  package init(noun: String, beginnings: [String] = [], end: String? = nil) {
    (self.noun, self.beginnings, self.end) = (noun, beginnings, end)
  }

  package static let events = OutputForm(noun: "events", beginnings: [#"{"at":""#])
  package static let metrics = OutputForm(noun: "metrics", beginnings: ["#helpreel_"])
  /// No other page has this policy so near to its beginning.
  package static let html = OutputForm(
    noun: "a report in HTML",
    beginnings: [
      #"<!doctypehtml><htmllang="en"><head><metacharset="utf-8">"#
        + #"<metahttp-equiv="content-security-policy"content="default-src'none'"#
    ])

  /// Any text: `--force` decides whether an existing file is replaced.
  package static let posts = OutputForm(noun: "a table")

  /// - Throws: ``OutputRefusal`` if `path` is a file with other content, or begins with a `~` that the shell has not
  ///   expanded.
  package func check(_ path: String) throws {
    if let problem = ShellWord.unexpandedHome(in: path) {
      throw OutputRefusal("\(path) can't be a file's name: \(problem)")
    }
    guard SourcePath(path).fileKind == S_IFREG, let begun = try? UserFile.read(path, upTo: Self.looked),
      !begun.isEmpty, !isLike(begun, path)
    else { return }
    throw OutputRefusal(
      "\(path): that file contains something other than \(noun); name another, or remove it")
  }

  /// - Parameter bytes: the beginning of the file at `path`.
  private func isLike(_ bytes: [UInt8], _ path: String) -> Bool {
    let text = String(decoding: bytes, as: UTF8.self)
    if !beginnings.isEmpty {
      let packed = Self.packed(text)
      return beginnings.contains { packed.hasPrefix($0) }
    }
    if let end {
      let last = (try? UserFile.readEnd(of: path, upTo: Self.lookedAtEnd)) ?? []
      guard String(decoding: last, as: UTF8.self).contains(end) else { return false }
    }
    // Split at a byte order mark, which may precede the first line.
    let isOther = text.split(whereSeparator: { $0.isNewline || $0 == "\u{FEFF}" }).contains { line in
      Self.otherTexts.contains { line.hasPrefix($0) }
    }
    return !bytes.contains(0) && !isOther
  }

  private static func packed(_ text: String) -> String { text.filter { !$0.isWhitespace }.lowercased() }

  /// Line beginnings of locks, of policies, and of the pointers that Git LFS leaves in place of files.
  private static let otherTexts = ["reel-lock", "policy:"] + LFSPointer.beginnings
  private static let looked = 512
  private static let lookedAtEnd = 8192
}
