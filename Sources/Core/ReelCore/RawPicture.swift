/// A picture as pixels: three bytes each (red, green, blue; sRGB), row by row from the top.
package struct RawPicture: Hashable, Sendable {
  /// Pixels, at least 1.
  package let width: Int
  /// Pixels, at least 1.
  package let height: Int
  /// `3 * width * height` of them.
  package var bytes: [UInt8]

  /// Nil unless there are as many bytes as that size takes.
  package init?(width: Int, height: Int, bytes: [UInt8]) {
    guard width > 0, height > 0, width <= Self.longestSide, height <= Self.longestSide,
      bytes.count == 3 * width * height
    else { return nil }
    (self.width, self.height, self.bytes) = (width, height, bytes)
  }

  /// A picture of one grey; sides are clamped to what a picture may have.
  package init(width: Int, height: Int, grey: UInt8) {
    self.width = min(max(width, 1), Self.longestSide)
    self.height = min(max(height, 1), Self.longestSide)
    bytes = [UInt8](repeating: grey, count: 3 * self.width * self.height)
  }

  /// Pixels on a side.
  package static let longestSide = 16_384
}
