import FoundationEssentials
import ReelCore
import ReelCrypto

/// A report as one self-contained HTML file, which loads no other file and makes no request.
///
/// Names, captions and messages are untrusted text. They are escaped, and characters that would reorder or hide text
/// are shown as escapes. The page's content security policy allows only its own style and script, and pictures within
/// the file.
package struct ReportPage: Sendable {
  /// How good a file's result is.
  package enum Tone: String, Sendable {
    case good, bad, warn, plain
  }

  /// A remark about a file.
  struct Note: Sendable {
    /// The rule or code to filter by; nil for none.
    var reason: String?
    /// The kind of note, such as `warning`, for a file with several notes.
    var word: String?
    var text: String
    var details: [String] = []
  }

  /// The entry of one file.
  struct Entry: Sendable {
    let path: SourcePath
    /// The result in a word or two: `published`, `not judged`.
    let result: String
    let tone: Tone
    var notes: [Note] = []
  }

  let command: String
  let headline: String
  let counts: [(label: String, number: String)]
  let about: String
  let entries: [Entry]
  /// What had no room in the list, in words; nil if all are listed.
  let more: String?
  let pictures: ReportPictures
  let links: SourceLinks

  /// The HTML file as text.
  package var html: String {
    let style = String(decoding: PackageResources.report_css, as: UTF8.self)
    let script = String(decoding: PackageResources.report_js, as: UTF8.self)
    let values = [
      "policy": Self.policy(style: style, script: script), "style": style, "script": script,
      "title": text("\(command): \(headline)"), "command": text(command), "headline": text(headline),
      "about": text(about), "filters": filters, "files": entries.map(item).joined(),
      "counts": counts.map { "<li><b>\(text($0.number))</b> <span>\(text($0.label))</span></li>\n" }.joined(),
      "more": more.map { "<p class=\"more\">\(text($0))</p>\n" } ?? "",
    ]
    // Fill all places in one pass, so that inserted text is never taken for a place to fill.
    let parts = String(decoding: PackageResources.report_html, as: UTF8.self).split(
      separator: "{{", omittingEmptySubsequences: false)
    return parts.dropFirst().reduce(into: String(parts.first ?? "")) { page, part in
      guard let end = part.firstRange(of: "}}") else { return }
      page += (values[String(part[..<end.lowerBound])] ?? "") + part[end.upperBound...]
    }
  }

  /// Turns a message, which is written to follow a name, into a sentence of its own.
  static func sentence(_ message: String) -> String { message.prefix(1).uppercased() + message.dropFirst() }

  private static func policy(style: String, script: String) -> String {
    func source(_ text: String) -> String {
      "'sha256-\(Data(SHA256.hash(data: text.utf8)).base64EncodedString())'"
    }
    return "default-src 'none'; style-src \(source(style)); script-src \(source(script)); img-src data:; "
      + "base-uri 'none'; form-action 'none'"
  }

  /// The text escaped for HTML, without characters that could mislead a reader.
  private func text(_ text: String) -> String { HTMLText.escaped(SanitizedText.terminal(text)) }

  // MARK: Filters

  /// The filter tag of a result or a reason, as a word without spaces.
  private static func tag(_ kind: String, _ name: String) -> String {
    "\(kind):" + PercentEncoding.path(name.utf8)
  }

  private static func tags(_ entry: Entry) -> [String] {
    [tag("result", entry.result)] + Set(entry.notes.compactMap(\.reason)).sorted().map { tag("reason", $0) }
  }

  private var filters: String {
    var results: [String: Int] = [:]
    var reasons: [String: Int] = [:]
    for entry in entries {
      results[entry.result, default: 0] += 1
      for reason in Set(entry.notes.compactMap(\.reason)) { reasons[reason, default: 0] += 1 }
    }
    func buttons(_ counts: [String: Int], _ kind: String) -> String {
      counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        .map { button($0.key, Self.tag(kind, $0.key), $0.value, isPressed: false) }.joined()
    }
    return button("all", "", entries.count, isPressed: true) + buttons(results, "result")
      + buttons(reasons, "reason")
  }

  private func button(_ label: String, _ tag: String, _ count: Int, isPressed: Bool) -> String {
    "<button type=\"button\" data-filter=\"\(text(tag))\" aria-pressed=\"\(isPressed)\">\(text(label))"
      + "<b>\(count)</b></button>\n"
  }

  // MARK: Files

  private func item(_ entry: Entry) -> String {
    let name = text(entry.path.text)
    let link =
      links.address(of: entry.path).map { "<a href=\"\(HTMLText.escaped($0))\" dir=\"auto\">\(name)</a>" }
      ?? "<span dir=\"auto\">\(name)</span>"
    let notes = entry.notes.map(note).joined()
    let image = pictures[entry.path].map { picture($0, of: name) } ?? ""
    return "<li data-tags=\"\(text(Self.tags(entry).joined(separator: " ")))\">\(image)<div class=\"said\">"
      + "<h2 class=\"name\">\(link) <span class=\"mark \(entry.tone.rawValue)\">\(text(entry.result))</span></h2>"
      + (notes.isEmpty ? "" : "<ul class=\"notes\">\(notes)</ul>") + "</div></li>\n"
  }

  private func note(_ note: Note) -> String {
    let word = note.word.map { "<b>\(text($0)):</b> " } ?? ""
    let reason = note.reason.map { " <code>\(text($0))</code>" } ?? ""
    let details = note.details.map { "<div class=\"detail\" dir=\"auto\">\(text($0))</div>" }.joined()
    return "<li>\(word)<span dir=\"auto\">\(text(note.text))</span>\(reason)\(details)</li>"
  }

  private func picture(_ picture: ReportPictures.Picture, of name: String) -> String {
    "<img alt=\"A picture from \(name)\" loading=\"lazy\" width=\"\(picture.width)\" "
      + "height=\"\(picture.height)\" src=\"data:image/jpeg;base64,\(Data(picture.jpeg).base64EncodedString())\">"
  }
}

/// Links from a report to the files that it names.
package struct SourceLinks: Sendable {
  private let folder: [UInt8]?
  private let workingFolder: [UInt8]?

  /// - Parameters:
  ///   - report: the path of the report. Files below its folder are linked relative to it, so that both can be moved
  ///     together. Nil if the report is not written to a file.
  ///   - workingFolder: the base of relative paths; nil if it no longer exists.
  package init(from report: String?, workingFolder: SourcePath?) {
    folder = report.map { Array(CanonicalPath(resolving: $0).text.utf8) }.flatMap { path in
      path.lastIndex(of: UInt8(ascii: "/")).map { Array(path[...$0]) }
    }
    self.workingFolder = workingFolder?.bytes
  }

  /// Returns a relative reference or a `file:` URL; nil if the file's place is unknown.
  func address(of path: SourcePath) -> String? {
    let slash = UInt8(ascii: "/")
    guard !path.isAddress else { return nil }
    guard path.bytes.first == slash || workingFolder != nil else { return nil }
    let whole = path.bytes.first == slash ? path.bytes : (workingFolder ?? []) + [slash] + path.bytes
    let plain = whole.split(separator: slash).filter { !$0.elementsEqual(".".utf8) }
    let absolute = [slash] + plain.joined(separator: [slash])
    if let folder, absolute.starts(with: folder), !plain.contains(where: { $0.elementsEqual("..".utf8) }) {
      return PercentEncoding.path(absolute.dropFirst(folder.count))
    }
    return "file://" + PercentEncoding.path(absolute)
  }
}
