/// An ID3v2 tag in front of something else. FFmpeg's probe skips one and looks at what follows, and so does
/// this (id3.org, ID3v2.4.0 structure, 3.1).
enum LeadingTag {
  static func verdict(_ head: FilePrefix, of rest: (FilePrefix) -> SniffVerdict) -> SniffVerdict? {
    guard let length = length(head) else { return nil }
    let unknown = Refusal.sound("a sound file with an ID3 tag").verdict
    guard length < head.count else { return unknown }
    let verdict = rest(head.slice(from: length))
    return verdict == .unrecognised ? unknown : verdict
  }

  /// The tag's length in bytes with its header (and its footer), or nil when there is no tag.
  private static func length(_ head: FilePrefix) -> Int? {
    guard head.has("ID3"), let version = head.byte(3), let revision = head.byte(4), let flags = head.byte(5),
      (2...4).contains(version), revision != 0xFF
    else { return nil }
    var size = 0
    for offset in 6..<10 {
      guard let byte = head.byte(offset), byte < 0x80 else { return nil }
      size = size << 7 | Int(byte)
    }
    return size + 10 + (flags & 0x10 != 0 ? 10 : 0)
  }
}
