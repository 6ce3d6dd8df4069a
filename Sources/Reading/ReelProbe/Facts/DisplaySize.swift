import ReelCore

/// The size of a picture as shown: its stored size, scaled by the sample aspect ratio, and with its sides swapped if
/// it is rotated by a quarter turn.
struct DisplaySize: Hashable {
  let width: Int
  let height: Int

  /// Returns nil if the stored size is not positive, or the shown one is implausibly large.
  ///
  /// - Parameter stretchDown: the factor by which its matrix stretches it vertically. It is part of `pixel` as well.
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

  /// The most pixels on a side; FFmpeg's own maximum is smaller.
  static let largest = 1 << 20
}
