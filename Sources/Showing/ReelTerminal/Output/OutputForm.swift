import Glibc
import ReelCore
import ReelSource

/// Something is to be written where it would destroy, or can't be: another place is to be named.
package struct OutputRefusal: ReelError {
  package let message: String

  package init(_ message: String) { self.message = message }
}

/// What a command writes to a file of the user's choice: it may take the place of an earlier one of its kind, and of nothing
/// else. A video or a lock that a glob or a slip of the hand names instead stays what it is.
package struct OutputForm {
  /// In a sentence.
  private let noun: String
  /// How such a file begins, in lower case and without white space; none for plain text.
  private let beginnings: [String]
  /// What stands near the end of such a plain text; nil for any.
  private let end: String?

  /// - Parameters:
  ///   - beginnings: of such a file, in lower case and without white space; none for plain text.
  ///   - end: what stands near the end of such a plain text; nil for any.
  package init(noun: String, beginnings: [String] = [], end: String? = nil) {
    (self.noun, self.beginnings, self.end) = (noun, beginnings, end)
  }

  package static let events = OutputForm(noun: "events", beginnings: [#"{"at":""#])
  package static let metrics = OutputForm(noun: "metrics", beginnings: ["#helpreel_"])
  /// Other pages have no such policy so near to their beginning.
  package static let html = OutputForm(
    noun: "a report in HTML",
    beginnings: [
      #"<!doctypehtml><htmllang="en"><head><metacharset="utf-8">"#
        + #"<metahttp-equiv="content-security-policy"content="default-src'none'"#
    ])

  /// Any text: whether one that is there is replaced is for `--force` to say.
  package static let posts = OutputForm(noun: "a table")

  /// - Throws: ``OutputRefusal`` where `path` is a file with other content, or begins with a `~` that nobody has expanded.
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

  /// - Parameter bytes: with which `path` begins.
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
    // A byte order mark may stand before the first one.
    let isOther = text.split(whereSeparator: { $0.isNewline || $0 == "\u{FEFF}" }).contains { line in
      Self.otherTexts.contains { line.hasPrefix($0) }
    }
    return !bytes.contains(0) && !isOther
  }

  private static func packed(_ text: String) -> String { text.filter { !$0.isWhitespace }.lowercased() }

  /// With which a line begins of locks, of policies, and of what Git LFS leaves in the place of a file.
  private static let otherTexts = ["reel-lock", "policy:"] + LFSPointer.beginnings
  private static let looked = 512
  private static let lookedAtEnd = 8192
}
