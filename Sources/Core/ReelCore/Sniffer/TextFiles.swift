/// Text of every kind except playlists: subtitles, markup, data, prose.
enum PlainText {
  static func verdict(_ head: FilePrefix) -> SniffVerdict? {
    guard head.isText else { return nil }
    let text = LowerCaseText(head)
    if LFSPointer.beginnings.contains(where: { text.begins(with: $0) }) { return Refusal.lfsPointer.verdict }
    if text.begins(with: "<"), text.contains("<svg") { return Refusal.picture("an SVG picture").verdict }
    let found = kinds.first { $0.matches(text) }?.found
    return Refusal.notMedia(found ?? "a text file").verdict
  }

  private static let kinds: [TextKind] = [
    TextKind("a pointer of git-annex", .begins("/annex/objects/")),
    TextKind("a WebVTT subtitle file", .begins("webvtt")),
    TextKind("an ASS subtitle file", .begins("[script info]")),
    TextKind("a SAMI subtitle file", .begins("<sami")),
    TextKind("an SCC subtitle file", .begins("scenarist_scc")),
    TextKind("a MicroDVD subtitle file", .begins("{"), .contains("}{"), .hasLine("{1}{")),
    TextKind("a TTML subtitle file", .isMarkup, .contains("http://www.w3.org/ns/ttml")),
    TextKind("a SubRip subtitle file", .hasLine("1"), .contains(" --> ")),
    TextKind("an FFmpeg metadata file", .begins(";ffmetadata")),
    TextKind("an HTML page", .begins("<!doctype html")),
    TextKind("an HTML page", .begins("<html")),
    TextKind("an HTML page", .isMarkup, .contains("<html")),
    TextKind("an XML document", .begins("<?xml")),
    TextKind("a PEM file (a key or a certificate)", .begins("-----begin ")),
    TextKind("a JSON text", .begins("{")),
    TextKind("a JSON text", .begins("["), .contains("\"")),
  ]
}

/// A small text file that stands for a file that Git LFS stores elsewhere.
package enum LFSPointer {
  /// The first line according to the specification, and in earlier versions that Git LFS still accepts (git-lfs,
  /// lfs/pointer.go).
  package static let beginnings = [
    "version https://git-lfs.github.com/", "version https://hawser.github.com/",
    "version http://git-media.io/v/",
  ]
}

extension FilePrefix {
  /// How many bytes from the beginning are examined.
  private static let span = 4096

  /// Whether the content is text: no control characters except those used in text, and either UTF-8 or mostly
  /// ASCII.
  fileprivate var isText: Bool {
    let bytes = slice(from: 0, count: Self.span).elements
    guard !bytes.isEmpty, bytes.allSatisfy(Self.isTextual) else { return false }
    let ascii = bytes.count { $0 < 0x80 }
    return ascii * 10 >= bytes.count * 7
      || String(validating: bytes.dropLast(cutTail(bytes)), as: UTF8.self) != nil
  }

  /// The number of bytes at the end that belong to a character cut off by the limit.
  private func cutTail(_ bytes: ArraySlice<UInt8>) -> Int {
    let tail = bytes.suffix(3).reversed().prefix { $0 & 0xC0 == 0x80 }.count
    guard let lead = bytes.dropLast(tail).last, lead >= 0xC0 else { return 0 }
    return tail + 1
  }

  static func isTextual(_ byte: UInt8) -> Bool {
    byte >= 0x20 ? byte != 0x7F : (0x08...0x0D).contains(byte) || byte == 0x1B
  }
}

/// A kind of text, identified by words in it. All conditions must hold.
struct TextKind: Sendable {
  /// Conditions on the text, with words in lower case.
  enum Condition: Sendable {
    /// The text begins with it, after a byte order mark and white space.
    case begins(String)
    case contains(String)
    /// A line begins with it.
    case hasLine(String)
    /// The text begins with an angle bracket.
    case isMarkup
  }
  private let conditions: [Condition]
  /// A noun with its article.
  let found: String

  init(_ found: String, _ conditions: Condition...) {
    (self.found, self.conditions) = (found, conditions)
  }

  func matches(_ text: LowerCaseText) -> Bool {
    conditions.allSatisfy { condition in
      switch condition {
      case .begins(let words): text.begins(with: words)
      case .contains(let words): text.contains(words)
      case .hasLine(let words): text.hasLine(beginningWith: words)
      case .isMarkup: text.begins(with: "<")
      }
    }
  }
}

/// The text at the beginning of a file, up to its first NUL, with ASCII letters in lower case.
struct LowerCaseText: Sendable {
  /// How far to search for words, in bytes. A manifest that hides its name behind more than this is classified, and
  /// refused, as some other text.
  private static let span = 16 * 1024
  private let head: FilePrefix

  init(_ head: FilePrefix) {
    let text = head.slice(from: 0, count: Self.span).elements.prefix { $0 != 0 }
    let start = Self.start(FilePrefix(text))
    self.head = FilePrefix(text.dropFirst(start).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 })
  }

  func begins(with words: String) -> Bool {
    head.has(Array(words.utf8))
  }

  func contains(_ words: String) -> Bool {
    head.firstOffset(of: Array(words.utf8)) != nil
  }

  func hasLine(beginningWith words: String) -> Bool {
    begins(with: words) || contains("\n" + words) || contains("\r" + words)
  }

  /// The length of the byte order mark and the white space before the first word.
  private static func start(_ head: FilePrefix) -> Int {
    let mark = head.has([0xEF, 0xBB, 0xBF]) ? 3 : 0
    return mark + head.slice(from: mark).elements.prefix { $0 == 0x20 || (0x09...0x0D).contains($0) }.count
  }
}

/// UTF-16 text. An MPEG audio frame may begin like its byte order mark, so this is checked before audio frames.
enum WideText {
  static func verdict(_ head: FilePrefix) -> SniffVerdict? {
    head.isWideText ? Refusal.notMedia("a UTF-16 text").verdict : nil
  }
}

extension FilePrefix {
  /// Whether there is a UTF-16 byte order mark followed by mostly ASCII characters.
  fileprivate var isWideText: Bool {
    let isLittle = has([0xFF, 0xFE])
    guard isLittle || has([0xFE, 0xFF]), count >= 4 else { return false }
    let pairs = min(count / 2, 256)
    let ascii = (1..<pairs).count { pair in
      let high = byte(2 * pair + (isLittle ? 1 : 0))
      let low = byte(2 * pair + (isLittle ? 0 : 1))
      return high == 0 && low.map(Self.isTextual) == true
    }
    return ascii * 2 > pairs - 1
  }
}

/// Playlists and manifests: text that names other files or addresses for a demuxer to open.
///
/// FFmpeg expects some of these at the very beginning, and others anywhere before the first NUL. A byte order mark
/// and white space before them are skipped here, because other players skip them.
enum Manifest {
  static func verdict(_ head: FilePrefix) -> SniffVerdict? {
    let text = LowerCaseText(head)
    return kinds.first { $0.matches(text) }.map { Refusal.playlist($0.found).verdict }
  }

  private static let kinds: [TextKind] = [
    TextKind("an HLS playlist", .begins("#extm3u"), .contains("#ext-x-")),
    TextKind("an M3U playlist", .begins("#extm3u")),
    TextKind("an M3U playlist", .begins("#extinf:")),
    TextKind("an HLS playlist", .begins("#ext-x-")),
    TextKind("an ffconcat list", .begins("ffconcat version")),
    TextKind("a DASH manifest", .contains("<mpd"), .contains("dash:profile")),
    TextKind("a DASH manifest", .isMarkup, .contains("<mpd")),
    TextKind("an IMF playlist", .contains("<compositionplaylist")),
    TextKind("a Smooth Streaming manifest", .isMarkup, .contains("<smoothstreamingmedia")),
    TextKind("an ASX playlist", .isMarkup, .contains("<asx")),
    TextKind("a SMIL playlist", .isMarkup, .contains("<smil")),
    TextKind("a Windows Media playlist", .begins("<?wpl")),
    TextKind("an XSPF playlist", .isMarkup, .contains("<playlist"), .contains("xspf")),
    TextKind("a PLS playlist", .begins("[playlist]")),
    TextKind("an ASF playlist", .begins("[reference]")),
    TextKind("an ASF playlist", .begins("asf "), .contains("://")),
    TextKind("a QuickTime playlist", .begins("rtsptext")),
    TextKind("a QuickTime playlist", .begins("smiltext")),
    TextKind("an SDP description", .begins("v=0"), .hasLine("o=")),
    TextKind("an SDP description", .hasLine("c=in ip")),
    TextKind("an EDL playlist", .begins("# mpv edl")),
    TextKind("a list of addresses", .begins("http://")),
    TextKind("a list of addresses", .begins("https://")),
    TextKind("a list of addresses", .begins("rtsp://")),
    TextKind("a list of addresses", .begins("rtmp://")),
    TextKind("a list of addresses", .begins("mms://")),
  ]
}
