/// UTF-16 text. Its byte order mark is also how a frame of MPEG audio may begin, so it comes before those.
enum WideText {
  static func verdict(_ head: FilePrefix) -> SniffVerdict? {
    head.isWideText ? Refusal.notMedia("a UTF-16 text").verdict : nil
  }
}

extension FilePrefix {
  /// Whether there is a UTF-16 byte order mark, and what follows is mostly ASCII.
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
