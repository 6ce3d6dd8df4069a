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
  /// How such a file begins, in lower case and without white space; nil for plain text.
  private let beginning: String?

  package init(noun: String, beginning: String?) { (self.noun, self.beginning) = (noun, beginning) }

  package static let events = OutputForm(noun: "events", beginning: #"{"at":""#)
  package static let metrics = OutputForm(noun: "metrics", beginning: "#helpreel_")
  package static let html = OutputForm(noun: "a report in HTML", beginning: "<!doctypehtml")

  /// Any text: whether one that is there is replaced is for `--force` to say.
  package static let posts = OutputForm(noun: "a table", beginning: nil)

  /// - Throws: ``OutputRefusal`` where `path` is a file with other content, or begins with a `~` that nobody has expanded.
  package func check(_ path: String) throws {
    if let problem = ShellWord.unexpandedHome(in: path) {
      throw OutputRefusal("\(path) can't be a file's name: \(problem)")
    }
    guard SourcePath(path).fileKind == S_IFREG, let begun = try? UserFile.read(path, upTo: Self.looked),
      !begun.isEmpty, !isLike(begun)
    else { return }
    throw OutputRefusal(
      "\(path): that file contains something other than \(noun); name another, or remove it")
  }

  private func isLike(_ bytes: [UInt8]) -> Bool {
    let text = String(decoding: bytes, as: UTF8.self)
    if let beginning { return Self.packed(text).hasPrefix(beginning) }
    let isOther = text.split(whereSeparator: \.isNewline).contains { line in
      Self.otherTexts.contains { line.hasPrefix($0) }
    }
    return !bytes.contains(0) && !isOther
  }

  private static func packed(_ text: String) -> String { text.filter { !$0.isWhitespace }.lowercased() }

  /// With which a line begins of locks, of policies, and of what Git LFS leaves in the place of a file.
  private static let otherTexts = ["reel-lock", "policy:", "version https://git-lfs"]
  private static let looked = 512
}
