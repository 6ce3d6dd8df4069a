/// A picture as pixels of three bytes each (red, green, blue; sRGB), row by row from the top.
package struct RawPicture: Hashable, Sendable {
  /// The width in pixels, at least 1.
  package let width: Int
  /// The height in pixels, at least 1.
  package let height: Int
  /// The `3 * width * height` bytes of the pixels.
  package var bytes: [UInt8]

  /// Creates a picture; nil unless the number of bytes fits the size, and the sides are within the limits.
  package init?(width: Int, height: Int, bytes: [UInt8]) {
    guard width > 0, height > 0, width <= Self.longestSide, height <= Self.longestSide,
      bytes.count == 3 * width * height
    else { return nil }
    (self.width, self.height, self.bytes) = (width, height, bytes)
  }

  /// Creates a picture of a single shade of grey, with its sides clamped to the limits.
  package init(width: Int, height: Int, grey: UInt8) {
    self.width = min(max(width, 1), Self.longestSide)
    self.height = min(max(height, 1), Self.longestSide)
    bytes = [UInt8](repeating: grey, count: 3 * self.width * self.height)
  }

  /// The maximum length of a side in pixels.
  package static let longestSide = 16_384
}
