/// The text at the beginning of a file, up to its first NUL, with ASCII letters in lower case.
struct LowerCaseText: Sendable {
  /// How far words are looked for, in bytes: a manifest that hides its name behind more is some other text,
  /// and refused as that.
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

  /// How long the byte order mark and the white space before the first word are.
  private static func start(_ head: FilePrefix) -> Int {
    let mark = head.has([0xEF, 0xBB, 0xBF]) ? 3 : 0
    return mark + head.slice(from: mark).elements.prefix { $0 == 0x20 || (0x09...0x0D).contains($0) }.count
  }
}
