/// The four bytes that name a box, a chunk, a brand or a codec.
package struct FourCharacterCode: Hashable, ExpressibleByStringLiteral {
  /// The bytes as they are in the file, the first one highest.
  package let value: UInt32

  /// Creates the code from the first four of `bytes`.
  package init(_ bytes: some Sequence<UInt8>) {
    value = bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// Creates the code from its four characters.
  package init(stringLiteral text: StaticString) {
    value = text.withUTF8Buffer { $0.prefix(4).reduce(0) { $0 << 8 | UInt32($1) } }
  }

  /// Creates the code from FFmpeg's `codec_tag`, in which the first byte is the lowest.
  package init(codecTag: UInt32) {
    value = codecTag.byteSwapped
  }

  /// The bytes, with a dot for each that is not printable ASCII.
  package var text: String {
    let bytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    return String(decoding: bytes.map { (0x20..<0x7f).contains($0) ? $0 : UInt8(ascii: ".") }, as: UTF8.self)
  }
}
