/// Honest videos whose tags and sidecars contain text that terminals, CI logs and spreadsheets obey.
struct Injections {
  let movie: [ISOBox]

  /// A marker follows each text, so that a test sees whether the text came through at all.
  static let texts =
    [
      "\u{1B}[2J\u{1B}[31;45;5m", "\u{1B}]0;title\u{7}", "\u{1B}]8;;http://x\u{1B}\\", "\u{9B}31m",
      "\u{9D}0;t\u{9C}",
      "a\n::error::", "::set-output name=x::", "a\r\n::add-mask::", "a\n##[error]", "##[command]",
      " ##[group]",
      "##vso[task.complete]", "\u{202E}", "\u{2066}x", "\u{85}::warning::", "\u{2028}::notice::",
      "a\tb\u{8}\u{8}",
      "=HYPERLINK(1)", "+1", "-1", "@SUM(1)", "\"},{\"type\":\"post.published\"", "\u{0}", "\u{7F}",
      "\u{FEFF}",
      "\u{1B}P\u{1B}\\", "\u{1B}c", "\u{E0041}",
    ].enumerated().map { $1 + "marker\($0)" }

  var files: [HostileFile] {
    Self.texts.enumerated().flatMap { number, text in
      [
        HostileFile("tagged", "\(number).mp4", .bytes(mp4(Array(text.utf8), number)), Answers.ok),
        HostileFile("tagged", "\(number).mkv", .bytes(matroska(Array(text.utf8), number)), Answers.ok),
        // A video with a sidecar, and no tags of its own.
        HostileFile("sidecars", "\(number).mp4", .bytes(plain(number)), Answers.ok),
        HostileFile("sidecars", "\(number).json", .bytes(Self.sidecar(text)), []),
      ]
    }
  }

  private func plain(_ number: Int) -> [UInt8] { movie.bytes + ISOBox("free", be32(number)).bytes }

  private func mp4(_ text: [UInt8], _ number: Int) -> [UInt8] {
    let items = ["nam", "ART"].map { key in
      let data = ISOBox("data", be32(1) + be32(0) + text).bytes
      return be32(8 + data.count) + [0xA9] + Array(key.utf8) + data
    }.joined()
    let handler = ISOBox.full("hdlr", be32(0) + Array("mdirappl".utf8) + be64(0) + [0])
    let meta = ISOBox("meta", be32(0) + handler.bytes + be32(8 + items.count) + Array("ilst".utf8) + items)
    return movie.changing("moov") { $0.children.append(ISOBox("udta", [], [meta])) }.bytes
      + ISOBox("free", be32(number)).bytes
  }

  private func matroska(_ text: [UInt8], _ number: Int) -> [UInt8] {
    let artist = EBML.element(
      0x1254_C367,
      EBML.element(0x7373, EBML.element(0x67C8, EBML.text(0x45A3, "ARTIST") + EBML.element(0x4487, text))))
    return EBML.file(
      EBML.info(1000 + Double(number), title: text) + EBML.tracks(EBML.track(1)) + artist + EBML.cluster)
  }

  /// JSON with every character of the text as an escape.
  private static func sidecar(_ text: String) -> [UInt8] {
    let escaped = text.utf16.map { unit in
      let digits = String(unit, radix: 16)
      return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }.joined()
    return Array("{\"caption\":\"\(escaped)\",\"music\":\"\(escaped)\",\"author\":\"\(escaped)\"}".utf8)
  }
}
