/// A directory of Exif (CIPA DC-008, 4.6.2), which has the form of TIFF.
struct ExifDirectory {
  private let tiff: ArraySlice<UInt8>
  private let isLittle: Bool
  private let start: Int

  /// - Parameter start: the directory's offset in `tiff`; nil for the first one.
  ///
  /// Nil for anything but TIFF.
  init?(_ tiff: ArraySlice<UInt8>, at start: Int? = nil) {
    isLittle = tiff.starts(with: [0x49, 0x49, 0x2A, 0])
    guard isLittle || tiff.starts(with: [0x4D, 0x4D, 0, 0x2A]) else { return nil }
    self.tiff = tiff
    guard let start = start ?? Self.number(4, 4, in: tiff, isLittle) else { return nil }
    self.start = start
  }

  /// Returns how many values a tag has, and the field for its value, as a number; nil if the tag is not there.
  subscript(tag: Int) -> (count: Int, value: Int)? {
    guard let count = Self.number(start, 2, in: tiff, isLittle) else { return nil }
    for place in 0..<count {
      let entry = start + 2 + 12 * place
      guard let found = Self.number(entry, 2, in: tiff, isLittle) else { return nil }
      if found == tag, let many = Self.number(entry + 4, 4, in: tiff, isLittle),
        // A number of two bytes is at the beginning of the field.
        let value = Self.number(entry + 8, isShort(entry) && many == 1 ? 2 : 4, in: tiff, isLittle)
      {
        return (many, value)
      }
    }
    return nil
  }

  private func isShort(_ entry: Int) -> Bool { Self.number(entry + 2, 2, in: tiff, isLittle) == 3 }

  private static func number(_ offset: Int, _ width: Int, in tiff: ArraySlice<UInt8>, _ isLittle: Bool)
    -> Int?
  {
    guard offset >= 0, offset <= tiff.count - width else { return nil }
    let field = tiff[(tiff.startIndex + offset)..<(tiff.startIndex + offset + width)]
    return (isLittle ? Array(field.reversed()) : Array(field)).reduce(0) { $0 << 8 | Int($1) }
  }
}
