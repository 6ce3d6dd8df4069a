import ReelCore

/// A measure of how much a picture shows.
struct PictureQuality: Hashable {
  /// From 0 (nothing) upward.
  let score: Double
  /// Whether it is neither black, blank, of one colour nor blurred, so that no other needs to be looked at.
  let isGood: Bool

  /// The least number of grey levels between what is darker than almost everything and what is brighter.
  private static let leastSpread = 48
  /// The largest fraction of pixels that may have about the same grey, or be as good as black or white.
  private static let mostAlike = 0.92
  /// The least steepness of the steepest edges between neighbours, as a fraction of the spread. In a sharp picture, one
  /// or two steps cross most of it.
  private static let leastSharpness = 0.08

  init(_ picture: RawPicture) {
    let statistics = LumaStatistics(picture)
    let spread = statistics.level(0.98) - statistics.level(0.02)
    let alike = statistics.mostAlike
    let sharpness = spread > 0 ? Double(statistics.steepest) / Double(spread) : 0
    // A picture of a few pixels is as sharp as it can be.
    let isSharp = sharpness >= Self.leastSharpness || min(picture.width, picture.height) < 64
    let isLit =
      statistics.share(of: 0..<24) < Self.mostAlike && statistics.share(of: 240..<256) < Self.mostAlike
    isGood = spread >= Self.leastSpread && alike < Self.mostAlike && isSharp && isLit
    score = Double(spread) * (1.05 - alike) * (0.2 + min(1, sharpness * 4))
  }
}

/// Statistics of the greys of a picture.
private struct LumaStatistics {
  private let counts: [Int]
  private let steps: [Int]
  private let total: Int

  /// The number of pixels that are examined. They tell as much as all.
  private static let samples = 10_000

  init(_ picture: RawPicture) {
    let (width, height) = (picture.width, picture.height)
    let stride = max(1, (width * height / Self.samples).squareRoot)
    // Counts of greys, then counts of steps.
    var counts = [Int](repeating: 0, count: 512)
    counts.withUnsafeMutableBufferPointer { counts in
      picture.bytes.withUnsafeBufferPointer { bytes in
        var y = 0
        while y < height {
          var x = 0
          while x < width {
            let place = 3 * (y * width + x)
            let grey = Self.luma(bytes, place)
            let right = x + 1 < width ? abs(Self.luma(bytes, place + 3) - grey) : 0
            let below = y + 1 < height ? abs(Self.luma(bytes, place + 3 * width) - grey) : 0
            counts[grey] += 1
            counts[256 + max(right, below)] += 1
            x += stride
          }
          y += stride
        }
      }
    }
    (self.counts, steps) = (Array(counts[..<256]), Array(counts[256...]))
    total = max(1, self.counts.reduce(0, +))
  }

  private static func luma(_ bytes: UnsafeBufferPointer<UInt8>, _ place: Int) -> Int {
    (77 * Int(bytes[place]) + 150 * Int(bytes[place + 1]) + 29 * Int(bytes[place + 2])) >> 8
  }

  /// Returns the grey below which this fraction of the pixels lies.
  func level(_ part: Double) -> Int { Self.level(part, counts, total) }

  /// The step from a pixel to its neighbour that hardly any other exceeds.
  var steepest: Int { Self.level(0.995, steps, total) }

  private static func level(_ part: Double, _ counts: [Int], _ total: Int) -> Int {
    var left = Int(part * Double(total))
    for (level, count) in counts.enumerated() {
      left -= count
      if left < 0 { return level }
    }
    return 255
  }

  /// The largest fraction of the pixels that lies within 12 neighbouring greys.
  var mostAlike: Double {
    var sum = counts[..<12].reduce(0, +)
    var most = sum
    for end in 12..<256 {
      sum += counts[end] - counts[end - 12]
      most = max(most, sum)
    }
    return Double(most) / Double(total)
  }

  func share(of greys: Range<Int>) -> Double {
    Double(counts[greys].reduce(0, +)) / Double(total)
  }
}

extension Int {
  fileprivate var squareRoot: Int { Int(Double(self).squareRoot()) }
}
