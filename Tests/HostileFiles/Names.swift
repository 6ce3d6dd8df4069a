/// Honest videos under all sorts of names.
struct Names {
  let video: [UInt8]

  var files: [HostileFile] {
    Self.names.enumerated().map { number, name in
      // A `free` box of its own makes each a different video.
      HostileFile("names", name, .bytes(video + ISOBox("free", be64(number)).bytes), Answers.ok)
    }
  }

  static let names: [[UInt8]] =
    texts.map { Array($0.utf8) } + bytes + [
      Array(String(repeating: "n", count: 251).utf8) + Array(".mp4".utf8),
      Array(repeating: 0xFF, count: 251) + Array(".mp4".utf8),
    ]

  /// Names that terminals, shells, CI logs, spreadsheets and FFmpeg take for something else.
  static let texts = [
    "new\nline.mp4", "return\rover.mp4", "tab\there.mp4", "-i.mp4", "--help.mp4", "-.mp4", "im%d.mp4",
    "im%03d.png.mp4",
    "http:x.mp4", "http:127.0.0.1:9.mp4", "file:secret.mp4", "concat:a|b.mp4", "data:,x.mp4", "pipe:0.mp4",
    "subfile,,start,0,end,9,,:x.mp4", "\u{1B}]0;title\u{7}.mp4", "\u{1B}[2J\u{1B}[31mred.mp4",
    "\u{9B}2Jc1.mp4",
    "::error::no.mp4", "\n::error file=a::b.mp4", "##[error]no.mp4", "a\n##[command]b.mp4",
    "##vso[task.setvariable variable=x]y.mp4", "\u{202E}4pm.exe.mp4", "\u{2066}x\u{2069}.mp4",
    "zero\u{200B}width.mp4",
    "nul\u{1}l.mp4", "del\u{7F}.mp4", "=1+1.mp4", "+1.mp4", "@SUM(A1).mp4", "\"quoted\".mp4",
    "'; rm -rf x;'.mp4",
    "$(id).mp4", "`id`.mp4", "a b.mp4", " lead.mp4", "trail .mp4", "back\\slash.mp4", "<script>.mp4",
    "&amp;.mp4",
    "*.mp4", "?.mp4", "[a].mp4", "~.mp4", "CON.mp4", "é.mp4", "e\u{301}.mp4", "日本語.mp4", "👨‍👩‍👧.mp4", "A.MP4",
    "a..mp4",
    "\u{2028}line.mp4", "\u{85}next.mp4", "\u{FEFF}mark.mp4", "\u{E000}private.mp4", "\u{FFFD}.mp4",
  ]

  /// Names that are not UTF-8.
  private static let bytes: [[UInt8]] = [
    [0xFF] + Array(".mp4".utf8), [0xC3, 0x28] + Array(".mp4".utf8), [0xED, 0xA0, 0x80] + Array(".mp4".utf8),
    [0xC0, 0xAF] + Array(".mp4".utf8), [0xF4, 0x90, 0x80, 0x80] + Array(".mp4".utf8),
    [0x61, 0x9B, 0x32, 0x4A] + Array(".mp4".utf8), [0xE2, 0x80] + Array(".mp4".utf8),
  ]
}
