/// Text of every sort but playlists: subtitles, markup, data, prose.
enum PlainText {
  static func verdict(_ head: FilePrefix) -> SniffVerdict? {
    guard head.isText else { return nil }
    let text = LowerCaseText(head)
    if text.begins(with: "version https://git-lfs.github.com/") { return Refusal.lfsPointer.verdict }
    if text.begins(with: "<"), text.contains("<svg") { return Refusal.picture("an SVG picture").verdict }
    let found = kinds.first { $0.matches(text) }?.found
    return Refusal.notMedia(found ?? "a text").verdict
  }

  private static let kinds: [TextKind] = [
    TextKind(.begins("webvtt"), "a WebVTT subtitle file"),
    TextKind(.begins("[script info]"), "an ASS subtitle file"),
    TextKind(.begins("<sami"), "a SAMI subtitle file"),
    TextKind(.begins("scenarist_scc"), "an SCC subtitle file"),
    TextKind(.begins("{"), .contains("}{"), .hasLine("{1}{"), "a MicroDVD subtitle file"),
    TextKind(.isMarkup, .contains("http://www.w3.org/ns/ttml"), "a TTML subtitle file"),
    TextKind(.hasLine("1"), .contains(" --> "), "a SubRip subtitle file"),
    TextKind(.begins(";ffmetadata"), "an FFmpeg metadata file"),
    TextKind(.begins("<!doctype html"), "an HTML page"),
    TextKind(.begins("<html"), "an HTML page"),
    TextKind(.isMarkup, .contains("<html"), "an HTML page"),
    TextKind(.begins("<?xml"), "an XML document"),
    TextKind(.begins("-----begin "), "a PEM file (a key or a certificate)"),
    TextKind(.begins("{"), "a JSON text"),
    TextKind(.begins("["), .contains("\""), "a JSON text"),
  ]
}

extension FilePrefix {
  /// How much of the beginning is looked at.
  private static let span = 4096

  /// Whether there is text and nothing else: no control characters but those of text, and mostly ASCII where
  /// it is not UTF-8.
  fileprivate var isText: Bool {
    let bytes = slice(from: 0, count: Self.span).elements
    guard !bytes.isEmpty, bytes.allSatisfy(Self.isTextual) else { return false }
    let ascii = bytes.count { $0 < 0x80 }
    return ascii * 10 >= bytes.count * 7
      || String(validating: bytes.dropLast(cutTail(bytes)), as: UTF8.self) != nil
  }

  /// How many bytes of a character stand at the end whose rest is outside.
  private func cutTail(_ bytes: ArraySlice<UInt8>) -> Int {
    let tail = bytes.suffix(3).reversed().prefix { $0 & 0xC0 == 0x80 }.count
    guard let lead = bytes.dropLast(tail).last, lead >= 0xC0 else { return 0 }
    return tail + 1
  }

  static func isTextual(_ byte: UInt8) -> Bool {
    byte >= 0x20 ? byte != 0x7F : (0x08...0x0D).contains(byte) || byte == 0x1B
  }
}
