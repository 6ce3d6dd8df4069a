import FoundationEssentials
import ReelCore

/// The formats in which posts are exported.
package enum ExportForm: String, Sendable, CaseIterable {
  case csv, jsonl
}

/// Posts as lines of a file (`reel export`).
package struct PostTable: Sendable {
  private let form: ExportForm
  private let isRaw: Bool

  /// - Parameter raw: whether text is written to a CSV unchanged, even if a spreadsheet would take it for a formula.
  package init(_ form: ExportForm, raw: Bool = false) {
    self.form = form
    isRaw = raw
  }

  /// The beginning of the file.
  package var header: String {
    switch form {
    case .csv: Self.record(Self.columns.map(\.name))
    case .jsonl: ""
    }
  }

  /// Returns a line for each post.
  /// - Throws: `EncodingError` if a post contains a number that JSON can't represent.
  package func text(_ posts: some Sequence<Post>) throws -> String {
    switch form {
    case .csv:
      posts.reduce(into: "") { text, post in
        text += Self.record(Self.columns.map { $0.field(post, isRaw: isRaw) })
      }
    case .jsonl: try posts.map { try JSONOutput.text($0) }.joined()
    }
  }

  // MARK: CSV

  private struct Column {
    enum Value {
      case text(String?)
      /// A number, which a spreadsheet can't take for anything else.
      case number(String?)
    }
    let name: String
    let value: @Sendable (Post) -> Value

    static func text(_ name: String, _ text: @escaping @Sendable (Post) -> String?) -> Column {
      Column(name: name) { .text(text($0)) }
    }

    static func number(_ name: String, _ number: @escaping @Sendable (Post) -> String?) -> Column {
      Column(name: name) { .number(number($0)) }
    }

    func field(_ post: Post, isRaw: Bool) -> String {
      switch value(post) {
      case .number(let text): text ?? ""
      case .text(let text): isRaw ? text ?? "" : text.map(PostTable.guarded) ?? ""
      }
    }
  }

  /// Named by the keys of a post's JSON; those that identify a post come first.
  private static let columns: [Column] = [
    .text("id") { $0.id.description },
    .number("pageNumber") { $0.pageNumber.map { "\($0)" } },
    .text("createdAt") { $0.createdAt.map { ISOTime.text($0, .secondsOrMilliseconds) } },
    .text("author") { $0.authorID },
    .text("autherName") { $0.authorName },
    .text("caption") { $0.caption },
    .text("music") { $0.music },
    .text("video") { $0.video.rawValue },
    .text("videoURL") { $0.videoURL },
    .text("videoFileExtension") { $0.videoFileExtension },
    .text("contentType") { $0.contentType },
    .text("videoCodec") { $0.videoCodec }, .text("sourceName") { $0.sourceName },
    .number("videoWidth") { $0.videoWidth.map { "\($0)" } },
    .number("videoHeight") { $0.videoHeight.map { "\($0)" } },
    .number("duration") { $0.duration.map { "\($0)" } },
    .number("size") { $0.size.map { "\($0)" } },
    .text("digest") { $0.digest?.description },
    .number("likeCount") { $0.likeCount.map { "\($0)" } },
    .number("shareCount") { $0.shareCount.map { "\($0)" } },
    .text("commentID") { $0.commentID },
    .text("poster") { $0.poster?.rawValue },
    .text("posterURL") { $0.posterURL },
    .number("posterWidth") { $0.posterWidth.map { "\($0)" } },
    .number("posterHeight") { $0.posterHeight.map { "\($0)" } },
    .text("blurHash") { $0.blurHash },
    .text("probe.method") { $0.probe?.method.rawValue },
    .text("probe.isolation") { $0.probe?.isolation.rawValue },
    .text("probe.ffmpeg") { $0.probe?.ffmpeg },
    .text("mended") { $0.mended?.joined(separator: ",") },
  ]

  /// Puts an apostrophe before what a spreadsheet would take for a formula (OWASP, "CSV Injection"): at the beginning
  /// of the text, and where a cell would begin for a spreadsheet that separates cells by semicolons or tabs, as in many
  /// locales, or that ignores quotes within a line.
  private static func guarded(_ text: String) -> String {
    let scalars = Array(text.unicodeScalars)
    guard let first = scalars.first else { return text }
    var guarded = String.UnicodeScalarView(formulas.contains(first) ? ["'"] : [])
    // The apostrophe at the beginning already covers further such characters there, including a tab.
    var (beginsText, beginsCell) = (true, false)
    for (index, scalar) in scalars.enumerated() {
      if beginsCell, formulas.contains(scalar), isFormula(scalar, before: scalars.dropFirst(index + 1).first)
      {
        guarded.append("'")
      }
      // Skip quotes and spaces before a formula.
      beginsText = beginsText && formulas.contains(scalar)
      beginsCell = !beginsText && cellEnds.contains(scalar) || beginsCell && (scalar == "\"" || scalar == " ")
      guarded.append(scalar)
    }
    return String(guarded)
  }

  private static let formulas = Set("=+-@\t\r＝＋－＠".unicodeScalars)
  private static let cellEnds = Set(";\t\r\n".unicodeScalars)

  /// A sign within a text may belong to a smiley, `;-)`, or a list.
  private static func isFormula(_ sign: Unicode.Scalar, before next: Unicode.Scalar?) -> Bool {
    guard "+-＋－".unicodeScalars.contains(sign) else { return !cellEnds.contains(sign) }
    guard let next else { return false }
    return next.properties.isAlphabetic || next.properties.numericType != nil
      || "(=+-@\"'".unicodeScalars.contains(next)
  }

  /// A record according to RFC 4180.
  private static func record(_ fields: [String]) -> String {
    fields.map(quoted).joined(separator: ",") + "\r\n"
  }

  private static func quoted(_ field: String) -> String {
    // Quote semicolons and tabs, too, because many programs take them for separators.
    let isPlain = !field.utf8.contains { [0x22, 0x2C, 0x0A, 0x0D, 0x3B, 0x09].contains($0) }
    let isTrimmed = field.utf8.first != 0x20 && field.utf8.last != 0x20
    if isPlain, isTrimmed { return field }
    // By scalars, because a quote followed by a combining mark is still a quote.
    let doubled = field.unicodeScalars.reduce(into: String.UnicodeScalarView()) { text, scalar in
      text.append(scalar)
      if scalar == "\"" { text.append(scalar) }
    }
    return "\"" + String(doubled) + "\""
  }
}
