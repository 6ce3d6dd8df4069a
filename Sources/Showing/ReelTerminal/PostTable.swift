import FoundationEssentials
import ReelCore

/// The forms in which posts are exported.
package enum ExportForm: String, Sendable, CaseIterable {
  case csv, jsonl
}

/// Posts as lines of a file (`reel export`).
package struct PostTable: Sendable {
  private let form: ExportForm
  private let isRaw: Bool

  /// - Parameter raw: whether a text stands in a CSV as it is, also where a spreadsheet would take it for a formula.
  package init(_ form: ExportForm, raw: Bool = false) {
    self.form = form
    isRaw = raw
  }

  /// What the file begins with.
  package var header: String {
    switch form {
    case .csv: Self.record(Self.columns.map(\.name))
    case .jsonl: ""
    }
  }

  /// A line for each.
  /// - Throws: `EncodingError`, when a post holds a number that JSON has not.
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
      /// It is none that a spreadsheet could take for anything else.
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

  /// By the keys of a post's JSON, what identifies a post first.
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

  /// With an apostrophe before what a spreadsheet takes for a formula (OWASP, "CSV Injection"): at the beginning, and
  /// where a cell begins for one that separates by semicolons or tabs, as many languages' do, or that sees no quotes
  /// within a line.
  private static func guarded(_ text: String) -> String {
    let scalars = Array(text.unicodeScalars)
    guard let first = scalars.first else { return text }
    var guarded = String.UnicodeScalarView(formulas.contains(first) ? ["'"] : [])
    // What the text itself begins with has its apostrophe, a tab, too.
    var (beginsText, beginsCell) = (true, false)
    for (index, scalar) in scalars.enumerated() {
      if beginsCell, formulas.contains(scalar), isFormula(scalar, before: scalars.dropFirst(index + 1).first)
      {
        guarded.append("'")
      }
      // Quotes and spaces before a formula are passed over.
      beginsText = beginsText && formulas.contains(scalar)
      beginsCell = !beginsText && cellEnds.contains(scalar) || beginsCell && (scalar == "\"" || scalar == " ")
      guarded.append(scalar)
    }
    return String(guarded)
  }

  private static let formulas = Set("=+-@\t\r＝＋－＠".unicodeScalars)
  private static let cellEnds = Set(";\t\r\n".unicodeScalars)

  /// A sign within a text may be a smile's, `;-)`, and a list's.
  private static func isFormula(_ sign: Unicode.Scalar, before next: Unicode.Scalar?) -> Bool {
    guard "+-＋－".unicodeScalars.contains(sign) else { return !cellEnds.contains(sign) }
    guard let next else { return false }
    return next.properties.isAlphabetic || next.properties.numericType != nil
      || "(=+-@\"'".unicodeScalars.contains(next)
  }

  /// A line of RFC 4180.
  private static func record(_ fields: [String]) -> String {
    fields.map(quoted).joined(separator: ",") + "\r\n"
  }

  private static func quoted(_ field: String) -> String {
    // Semicolons and tabs, too: many a program takes them for separators.
    let isPlain = !field.utf8.contains { [0x22, 0x2C, 0x0A, 0x0D, 0x3B, 0x09].contains($0) }
    let isTrimmed = field.utf8.first != 0x20 && field.utf8.last != 0x20
    if isPlain, isTrimmed { return field }
    // By scalars: a quote with a combining mark behind it is a quote.
    let doubled = field.unicodeScalars.reduce(into: String.UnicodeScalarView()) { text, scalar in
      text.append(scalar)
      if scalar == "\"" { text.append(scalar) }
    }
    return "\"" + String(doubled) + "\""
  }
}
