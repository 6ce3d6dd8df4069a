/// Matroska and WebM: an EBML header (RFC 8794) whose DocType says which.
enum Matroska {
  static func verdict(_ head: FilePrefix) -> SniffVerdict? {
    guard head.has([0x1A, 0x45, 0xDF, 0xA3]) else { return nil }
    guard let docType = docType(head) else { return .container(.matroska) }
    switch docType {
    case Array("webm".utf8): return .container(.webm)
    case Array("matroska".utf8): return .container(.matroska)
    default: return Refusal.otherContainer("an EBML document that is not a Matroska file").verdict
    }
  }

  /// The DocType without its padding; nil when the header has none that can be read, which means Matroska to
  /// FFmpeg.
  private static func docType(_ head: FilePrefix) -> [UInt8]? {
    guard let length = variableNumber(head, at: 4, keepsMarker: false) else { return nil }
    var offset = 4 + length.size
    let end = min(head.count, offset + Int(clamping: min(length.value, UInt64(head.count))))
    while offset < end, let id = variableNumber(head, at: offset, keepsMarker: true),
      let size = variableNumber(head, at: offset + id.size, keepsMarker: false)
    {
      let content = offset + id.size + size.size
      guard size.value <= UInt64(head.count), content <= head.count else { return nil }
      if id.value == 0x4282 {
        return head.slice(from: content, count: Int(size.value)).elements.prefix { $0 != 0 } + []
      }
      offset = content + Int(size.value)
    }
    return nil
  }

  /// A number of 1 to 8 bytes, whose length is the place of its first bit (RFC 8794, section 4).
  private static func variableNumber(
    _ head: FilePrefix, at offset: Int, keepsMarker: Bool
  ) -> (value: UInt64, size: Int)? {
    guard let first = head.byte(offset) else { return nil }
    let size = first.leadingZeroBitCount + 1
    guard size <= 8, let raw = head.bigEndian(size, at: offset) else { return nil }
    return (keepsMarker ? raw : raw & ((1 << UInt64(7 * size)) - 1), size)
  }
}
