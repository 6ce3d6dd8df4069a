/// ZIP archives, and the documents and programs that are ZIP archives inside (APPNOTE.TXT, 4.3.7).
enum Zip {
  static func verdict(_ head: FilePrefix) -> SniffVerdict? {
    guard head.has("PK\u{3}\u{4}") || head.has("PK\u{5}\u{6}") || head.has("PK\u{7}\u{8}") else { return nil }
    let found = kinds.first { head.has(Array($0.firstEntry.utf8), at: 30) }?.found
    return Refusal.notMedia(found ?? "a ZIP archive").verdict
  }

  /// By the name of the first entry, which stands after a header of 30 bytes.
  private static let kinds: [(firstEntry: String, found: String)] = [
    ("mimetypeapplication/epub+zip", "an EPUB book"),
    ("mimetypeapplication/vnd.oasis", "an OpenDocument file"),
    ("[Content_Types].xml", "an Office document"),
    ("_rels/", "an Office document"),
    ("word/", "an Office document"),
    ("xl/", "an Office document"),
    ("ppt/", "an Office document"),
    ("META-INF/", "a Java archive"),
    ("AndroidManifest.xml", "an Android app"),
  ]
}
