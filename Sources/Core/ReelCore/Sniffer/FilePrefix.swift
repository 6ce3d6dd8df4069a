/// The first bytes of a file. Every read is checked: what lies outside is nil, never a trap.
struct FilePrefix: Sendable {
  private let bytes: ArraySlice<UInt8>

  init(_ bytes: some Sequence<UInt8>) {
    self.bytes = ArraySlice(bytes)
  }

  private init(slice: ArraySlice<UInt8>) {
    bytes = slice
  }

  var count: Int { bytes.count }

  /// The byte at `offset`, counted from the beginning of this head.
  func byte(_ offset: Int) -> UInt8? {
    guard offset >= 0, offset < bytes.count else { return nil }
    return bytes[bytes.startIndex + offset]
  }

  /// The bytes from `offset` on, at most `count` of them; fewer, or none, where the head ends.
  func slice(from offset: Int, count: Int = .max) -> FilePrefix {
    guard offset >= 0, offset < bytes.count, count > 0 else { return FilePrefix(slice: []) }
    return FilePrefix(slice: bytes.dropFirst(offset).prefix(count))
  }

  /// The big-endian number of `length` (1 ... 8) bytes at `offset`.
  func bigEndian(_ length: Int, at offset: Int) -> UInt64? {
    guard (1...8).contains(length) else { return nil }
    var value: UInt64 = 0
    for index in 0..<length {
      // `&+`: an offset near Int.max wraps to a negative one, which `byte` refuses.
      guard let byte = byte(offset &+ index) else { return nil }
      value = value << 8 | UInt64(byte)
    }
    return value
  }

  func has(_ text: StaticString) -> Bool { text.withUTF8Buffer { has($0) } }

  func has(_ expected: some Collection<UInt8>, at offset: Int = 0) -> Bool {
    guard offset >= 0, offset <= bytes.count, bytes.count - offset >= expected.count else { return false }
    return bytes.dropFirst(offset).starts(with: expected)
  }

  /// Where `needle` stands first, if it does.
  func firstOffset(of needle: some Collection<UInt8>) -> Int? {
    guard let first = needle.first else { return nil }
    var rest = bytes
    while let found = rest.firstIndex(of: first) {
      if rest[found...].starts(with: needle) { return found - bytes.startIndex }
      rest = rest[(found + 1)...]
    }
    return nil
  }

  /// Its bytes, to walk through.
  var elements: ArraySlice<UInt8> { bytes }
}

/// An ID3v2 tag in front of something else. FFmpeg's probe skips one and looks at what follows, and so does
/// this (id3.org, ID3v2.4.0 structure, 3.1).
enum LeadingTag {
  static func verdict(_ head: FilePrefix, of rest: (FilePrefix) -> SniffVerdict) -> SniffVerdict? {
    guard let length = length(head) else { return nil }
    let unknown = Refusal.sound("a sound file with an ID3 tag").verdict
    guard length < head.count else { return ProgramStream.verdictBehindOther(head) ?? unknown }
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

/// A file that was given its size and never its content: an unfinished download.
enum Zeros {
  static func verdict(_ head: FilePrefix) -> SniffVerdict? {
    guard head.count > 0, head.elements.allSatisfy({ $0 == 0 }) else { return nil }
    return Refusal.notMedia("a file that begins with nothing but zeros (an unfinished download?)").verdict
  }
}
