import ReelCore

/// The size of a picture as shown: its stored size, each pixel as wide as the sample aspect ratio says, turned.
struct DisplaySize: Hashable {
  let width: Int
  let height: Int

  /// Nil when the stored size is no size, or the shown one is beyond sense.
  ///
  /// - Parameter stretchDown: how much higher than stored it is shown by its matrix, which is part of `pixel` as well.
  init?(
    storedWidth: Int, storedHeight: Int, pixel: SampleAspectRatio?, stretchDown: Double = 1, swapped: Bool
  ) {
    guard storedWidth > 0, storedHeight > 0 else { return nil }
    let across = (Double(storedWidth) * (pixel?.ratio.value ?? 1) * stretchDown).rounded()
    let down = (Double(storedHeight) * stretchDown).rounded()
    guard across >= 1, across <= Double(Self.largest), down <= Double(Self.largest) else { return nil }
    width = Int(swapped ? down : across)
    height = Int(swapped ? across : down)
  }

  /// Pixels on a side; what FFmpeg takes at most is smaller.
  static let largest = 1 << 20
}
