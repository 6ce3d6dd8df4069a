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

/// A stream's display matrix.
enum DisplayMatrix {
  /// Its nine numbers; fewer when it is damaged, nil when there is none.
  static func numbers(of stream: UnsafeMutablePointer<AVStream>) -> [Int32]? {
    var size = 0
    guard let data = reel_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &size) else { return nil }
    let bytes = UnsafeRawBufferPointer(start: data, count: size)
    return (0..<min(9, size / 4)).map { bytes.loadUnaligned(fromByteOffset: $0 * 4, as: Int32.self) }
  }
}

/// How the pixels of a picture change places to stand upright: flipped, then turned about its diagonal.
package struct DisplayOrientation: Hashable, Sendable {
  /// Whether left and right change places.
  package var flipsAcross = false
  /// Whether top and bottom change places.
  package var flipsDown = false
  /// Whether rows become columns after that.
  package var transposes = false

  /// As it is stored.
  package init() {}

  /// From the nine numbers of a display matrix, by which (x, y) is shown at (ax + cy, bx + dy). As it is stored unless
  /// they turn it by quarters.
  init(matrix: [Int32]) {
    guard let turn = DisplayRotation(matrix: matrix), turn.rotation % 90 == 0 else { return }
    if turn.swapsSides {
      (flipsAcross, flipsDown, transposes) = (matrix[1] < 0, matrix[3] < 0, true)
    } else {
      (flipsAcross, flipsDown) = (matrix[0] < 0, matrix[4] < 0)
    }
  }
}
