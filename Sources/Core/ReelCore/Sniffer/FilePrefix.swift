/// The first bytes of a file. Every read is checked: a read out of bounds returns nil and never traps.
struct FilePrefix: Sendable {
  private let bytes: ArraySlice<UInt8>

  init(_ bytes: some Sequence<UInt8>) {
    self.bytes = ArraySlice(bytes)
  }

  private init(slice: ArraySlice<UInt8>) {
    bytes = slice
  }

  var count: Int { bytes.count }

  /// The byte at `offset`, relative to the beginning of this prefix.
  func byte(_ offset: Int) -> UInt8? {
    guard offset >= 0, offset < bytes.count else { return nil }
    return bytes[bytes.startIndex + offset]
  }

  /// Up to `count` bytes from `offset` on; fewer, or none, at the end of the prefix.
  func slice(from offset: Int, count: Int = .max) -> FilePrefix {
    guard offset >= 0, offset < bytes.count, count > 0 else { return FilePrefix(slice: []) }
    return FilePrefix(slice: bytes.dropFirst(offset).prefix(count))
  }

  /// The big-endian number in the `length` (1 ... 8) bytes at `offset`.
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

  /// The offset of the first occurrence of `needle`; nil if there is none.
  func firstOffset(of needle: some Collection<UInt8>) -> Int? {
    guard let first = needle.first else { return nil }
    var rest = bytes
    while let found = rest.firstIndex(of: first) {
      if rest[found...].starts(with: needle) { return found - bytes.startIndex }
      rest = rest[(found + 1)...]
    }
    return nil
  }

  /// The bytes, for iteration.
  var elements: ArraySlice<UInt8> { bytes }
}

/// An ID3v2 tag before other content. Like FFmpeg's probe, this skips one tag and identifies what follows (id3.org,
/// ID3v2.4.0 structure, 3.1).
enum LeadingTag {
  static func verdict(_ head: FilePrefix, of rest: (FilePrefix) -> SniffVerdict) -> SniffVerdict? {
    guard let length = length(head) else { return nil }
    let unknown = Refusal.sound("a sound file with an ID3 tag").verdict
    guard length < head.count else { return ProgramStream.verdictBehindOther(head) ?? unknown }
    let verdict = rest(head.slice(from: length))
    return verdict == .unrecognised ? unknown : verdict
  }

  /// The length of the tag in bytes, including its header (and footer); nil if there is no tag.
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

/// A file that was allocated but never filled: an unfinished download.
enum Zeros {
  static func verdict(_ head: FilePrefix) -> SniffVerdict? {
    guard head.count > 0, head.elements.allSatisfy({ $0 == 0 }) else { return nil }
    return Refusal.notMedia("a file that begins with nothing but zeros (an unfinished download?)").verdict
  }
}
