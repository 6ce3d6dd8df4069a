import CFFmpeg
import Glibc
import ReelCore

/// The shape that an ISO base media file gives the pixels of a track: `pasp`, otherwise the size at which its track
/// header shows it (ISO/IEC 14496-12, 8.3.2 and 12.1.4), times the factor by which its matrix stretches one way more
/// than the other.
struct TrackShape {
  /// The ratio of a pixel's width to its height; nil if the file states none.
  let pixel: AVRational?
  /// The factor by which the picture is shown higher than stored, if the matrix stretches it vertically; otherwise 1.
  let stretchDown: Double
  /// The size at which the track header shows the track, in pixels before rotation, if it contradicts the shape;
  /// otherwise nil.
  let contradiction: Contradiction?

  /// The plausible ratios of a pixel's width to its height.
  static let possible = 0.02...50.0

  struct Contradiction: Hashable {
    let width: Double
    let height: Double
  }

  /// - Parameters:
  ///   - width: the width of the pictures in pixels, as stored.
  ///   - height: their height in pixels, as stored.
  ///   - own: the shape that the pictures themselves give their pixels; 0 if they state none. If the size in the
  ///     track header agrees with it, that size is this shape, rounded.
  init(_ track: ISOTrack, width: Int, height: Int, own: AVRational = AVRational()) {
    let scale = Self.scale(track.header?.matrix ?? [])
    stretchDown = scale < 1 ? 1 / scale : 1
    let shown = Self.shown(track, width: width, height: height)
    var base: Double?
    let isOwn =
      own.num > 0 && own.den > 0
      && shown.map { Self.isShape($0.width, $0.height, of: Double(width) * av_q2d(own), Double(height)) }
        ?? false
    if let pixel = track.entry?.pixel?.ratio {
      base = pixel.value
      contradiction =
        Self.contradicts(track, pixel.value, shown, width, height)
        ? shown.map { Contradiction(width: $0.width, height: $0.height) } : nil
    } else if isOwn {
      base = av_q2d(own)
      contradiction = nil
    } else {
      base = shown.map { $0.width * Double(height) / ($0.height * Double(width)) }
      contradiction = shown.map { Contradiction(width: $0.width, height: $0.height) }
    }
    if let found = base, !Self.possible.contains(found) { base = nil }
    if base == nil, scale == 1 {
      pixel = nil
    } else if scale == 1, let exact = track.entry?.pixel?.ratio {
      pixel = Self.reduced(Int64(exact.numerator), Int64(exact.denominator))
    } else if scale == 1, isOwn {
      pixel = own
    } else if scale == 1, let shown {
      pixel = Self.reduced(
        Int64(shown.width * 65_536) * Int64(height), Int64(shown.height * 65_536) * Int64(width))
    } else {
      pixel = av_d2q((base ?? 1) * scale, 65_536)
    }
  }

  /// Returns how much more the matrix stretches a picture horizontally than vertically, as it is stored; 1 for a
  /// difference of less than a hundredth.
  private static func scale(_ matrix: [Int32]) -> Double {
    guard matrix.count >= 9 else { return 1 }
    let across = hypot(Double(matrix[0]), Double(matrix[1]))
    let down = hypot(Double(matrix[3]), Double(matrix[4]))
    guard across > 0, down > 0, abs(across / down - 1) > 0.01, possible.contains(across / down) else {
      return 1
    }
    return across / down
  }

  /// Returns the size in the track header, if it has another shape than the pictures. Nil if it has not, and if it is
  /// the size of the pictures after rotation.
  private static func shown(_ track: ISOTrack, width: Int, height: Int) -> (width: Double, height: Double)? {
    guard let header = track.header, header.width > 0, header.height > 0, width > 0, height > 0 else {
      return nil
    }
    let (across, down) = (Double(header.width) / 65_536, Double(header.height) / 65_536)
    let isTurned = DisplayRotation(matrix: header.matrix)?.swapsSides ?? false
    if isTurned, isShape(across, down, of: Double(height), Double(width)) { return nil }
    return isShape(across, down, of: Double(width), Double(height)) ? nil : (across, down)
  }

  /// Whether a picture of this size has the same shape as one of `width` and `height`, to within a pixel.
  private static func isShape(_ across: Double, _ down: Double, of width: Double, _ height: Double) -> Bool {
    let ratio = across * height / (down * width)
    return abs(ratio - 1) * max(width, height) <= 1.5 || abs(ratio - 1) < 0.004
  }

  /// Whether the track header implies another pixel shape than `pasp`. It may mean the clean aperture.
  private static func contradicts(
    _ track: ISOTrack, _ pixel: Double, _ shown: (width: Double, height: Double)?, _ width: Int, _ height: Int
  ) -> Bool {
    guard let (across, down) = shown else { return false }
    let wholes =
      [(Double(width), Double(height))] + (track.entry?.aperture.map { [($0.width, $0.height)] } ?? [])
    return !wholes.contains { whole in
      let ratio = across * whole.1 / (down * whole.0 * pixel)
      let turned = down * whole.1 / (across * whole.0 * pixel)
      return abs(ratio - 1) < 0.02 || abs(turned - 1) < 0.02
    }
  }

  private static func reduced(_ across: Int64, _ down: Int64) -> AVRational? {
    var reduced = AVRational()
    av_reduce(&reduced.num, &reduced.den, across, down, Int64(Int32.max))
    return reduced.num > 0 && reduced.den > 0 ? reduced : nil
  }
}
