import CFFmpeg

/// How a picture is rotated and flipped to be shown.
struct DisplayRotation: Hashable {
  /// Clockwise degrees, 0 ..< 360: FFmpeg's angle with the opposite sign.
  let rotation: Int
  /// Whether a vertical flip goes with the rotation.
  let mirrored: Bool

  /// The rotation that holds if nothing states another.
  static let none = DisplayRotation(rotation: 0, mirrored: false)

  init(rotation: Int, mirrored: Bool) {
    self.rotation = rotation
    self.mirrored = mirrored
  }

  /// Reads the nine numbers of a display matrix (`libavutil/display.h`). Returns nil if there are fewer, or if they
  /// collapse every picture: a matrix of zeros has no angle.
  init?(matrix: [Int32]) {
    guard matrix.count >= 9 else { return nil }
    let counterClockwise = av_display_rotation_get(matrix)
    guard counterClockwise.isFinite else { return nil }
    rotation = (720 - Int(counterClockwise.rounded())) % 360
    let (a, b, c, d) = (Int64(matrix[0]), Int64(matrix[1]), Int64(matrix[3]), Int64(matrix[4]))
    mirrored = Double(a) * Double(d) < Double(b) * Double(c)
  }

  /// Whether width and height are swapped: by an odd number of quarter turns. Players ignore an angle that is not a
  /// multiple of a quarter turn.
  var swapsSides: Bool { rotation % 180 == 90 }
}

/// A stream's display matrix.
enum DisplayMatrix {
  /// Returns its nine numbers; fewer if it is damaged, nil if there is none.
  static func numbers(of stream: UnsafeMutablePointer<AVStream>) -> [Int32]? {
    var size = 0
    guard let data = reel_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &size) else { return nil }
    let bytes = UnsafeRawBufferPointer(start: data, count: size)
    return (0..<min(9, size / 4)).map { bytes.loadUnaligned(fromByteOffset: $0 * 4, as: Int32.self) }
  }
}

/// How the pixels of a picture are rearranged to stand upright: flipped, then transposed.
package struct DisplayOrientation: Hashable, Sendable {
  /// Whether left and right are swapped.
  package var flipsAcross = false
  /// Whether top and bottom are swapped.
  package var flipsDown = false
  /// Whether rows become columns after that.
  package var transposes = false

  /// Creates the orientation of a picture that is shown as stored.
  package init() {}

  /// Creates the orientation for the nine numbers of a display matrix, which shows (x, y) at (ax + cy, bx + dy).
  /// Unless they rotate the picture by quarter turns, it is shown as stored.
  init(matrix: [Int32]) {
    guard let turn = DisplayRotation(matrix: matrix), turn.rotation % 90 == 0 else { return }
    if turn.swapsSides {
      (flipsAcross, flipsDown, transposes) = (matrix[1] < 0, matrix[3] < 0, true)
    } else {
      (flipsAcross, flipsDown) = (matrix[0] < 0, matrix[4] < 0)
    }
  }
}
