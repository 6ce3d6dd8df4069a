import CFFmpeg

/// How a picture is turned to be shown.
struct DisplayRotation: Hashable {
  /// Clockwise degrees, 0 ..< 360: FFmpeg's angle, the other way round.
  let rotation: Int
  /// Whether a vertical flip goes with the rotation.
  let mirrored: Bool

  /// What holds where nothing says otherwise.
  static let none = DisplayRotation(rotation: 0, mirrored: false)

  init(rotation: Int, mirrored: Bool) {
    self.rotation = rotation
    self.mirrored = mirrored
  }

  /// From the nine numbers of a display matrix (`libavutil/display.h`). Nil when there are fewer, or when they
  /// squeeze every picture to nothing: a matrix of zeros has no angle.
  init?(matrix: [Int32]) {
    guard matrix.count >= 9 else { return nil }
    let counterClockwise = av_display_rotation_get(matrix)
    guard counterClockwise.isFinite else { return nil }
    rotation = (720 - Int(counterClockwise.rounded())) % 360
    let (a, b, c, d) = (Int64(matrix[0]), Int64(matrix[1]), Int64(matrix[3]), Int64(matrix[4]))
    mirrored = Double(a) * Double(d) < Double(b) * Double(c)
  }

  /// Whether width and height change places: an odd number of quarter turns. Players leave a picture that is
  /// turned by any other angle as it is.
  var swapsSides: Bool { rotation % 180 == 90 }
}
