import ReelCore

/// The size of a picture as shown: its stored size, each pixel as wide as the sample aspect ratio says, turned.
struct DisplaySize: Hashable {
  let width: Int
  let height: Int

  /// Nil when the stored size is no size, or the shown one is beyond sense.
  init?(storedWidth: Int, storedHeight: Int, pixel: SampleAspectRatio?, swapped: Bool) {
    guard storedWidth > 0, storedHeight > 0 else { return nil }
    let stretched = (Double(storedWidth) * (pixel?.ratio.value ?? 1)).rounded()
    guard stretched >= 1, stretched <= Double(Self.largest) else { return nil }
    width = swapped ? storedHeight : Int(stretched)
    height = swapped ? Int(stretched) : storedHeight
  }

  /// Pixels on a side; what FFmpeg takes at most is smaller.
  static let largest = 1 << 20
}
