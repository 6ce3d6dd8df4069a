import ReelCore
import Testing

@testable import ReelPicture

/// Hashes are compared with those of another implementation (`blurhash` of PyPI, 1.1.4) for the same pixels.
@Suite struct BlurHashTests {
  struct Vector: Sendable {
    let pattern: @Sendable (Int, Int, Int, Int) -> (Int, Int, Int)
    let size: (width: Int, height: Int)
    let components: (across: Int, down: Int)
    let text: String
  }

  private static let across: @Sendable (Int, Int, Int, Int) -> (Int, Int, Int) = { x, _, width, _ in
    (x * 255 / (width - 1), 64, 255 - x * 255 / (width - 1))
  }
  private static let down: @Sendable (Int, Int, Int, Int) -> (Int, Int, Int) = { _, y, _, height in
    (y * 255 / (height - 1), y * 200 / (height - 1), 30)
  }
  private static let checks: @Sendable (Int, Int, Int, Int) -> (Int, Int, Int) = { x, y, _, _ in
    (x / 8 + y / 8) % 2 == 1 ? (255, 255, 255) : (0, 0, 0)
  }
  private static let mixed: @Sendable (Int, Int, Int, Int) -> (Int, Int, Int) = { x, y, _, _ in
    ((x * 7 + y * 13) % 256, (x * x + y) % 256, x * y * 3 % 256)
  }

  static let vectors = [
    Vector(
      pattern: { _, _, _, _ in (128, 128, 128) }, size: (32, 24), components: (4, 3),
      text: "L2Eyb[_3fQ_3~qoffQoffQfQfQfQ"),
    Vector(
      pattern: { _, _, _, _ in (255, 0, 0) }, size: (32, 24), components: (4, 3),
      text: "LDTI:j]9fQ]9|co1fQo1fQfQfQfQ"),
    Vector(pattern: across, size: (32, 24), components: (4, 3), text: "L.HbW}2gw%W@oMWrjufRfQfQfQfQ"),
    Vector(pattern: across, size: (24, 32), components: (3, 4), text: "T;Hk[l6;w*oMa~jufQfQfQoMa~ju"),
    Vector(pattern: across, size: (17, 9), components: (5, 2), text: "D@HuZE6;w*j_Wtw~SPjvfRa}"),
    Vector(pattern: down, size: (32, 24), components: (4, 3), text: "L$Hm^yodfQod0lWWfQWWxXj@fQj@"),
    Vector(pattern: down, size: (24, 32), components: (3, 4), text: "T$HdZBodfQ0lWWfQxXj@fQWDfQfQ"),
    Vector(pattern: checks, size: (32, 24), components: (4, 3), text: "LjLqe9M{fQD%t7j[fQj[fQD%fQ00"),
    Vector(pattern: checks, size: (17, 9), components: (5, 2), text: "DtLENU009F_3Rj%MD%IU%MWB"),
    Vector(pattern: mixed, size: (32, 24), components: (4, 3), text: "LSHUb5M2mTrY#jSbFZfiWR2VsVw#"),
    Vector(pattern: mixed, size: (24, 32), components: (3, 4), text: "TSHd%JL+MLW8W9obr:BPJABhE#,u"),
    Vector(pattern: mixed, size: (17, 9), components: (5, 2), text: "DYD+uZ8ykhpHVIF.nTj{bDjF"),
  ]

  @Test(arguments: vectors.indices)
  func isWhatTheAlgorithmSays(_ index: Int) throws {
    let vector = Self.vectors[index]
    let (width, height) = vector.size
    var bytes: [UInt8] = []
    for y in 0..<height {
      for x in 0..<width {
        let (red, green, blue) = vector.pattern(x, y, width, height)
        bytes += [UInt8(red), UInt8(green), UInt8(blue)]
      }
    }
    let picture = try #require(RawPicture(width: width, height: height, bytes: bytes))
    let (across, down) = vector.components
    #expect(BlurHash.text(of: picture, across: across, down: down) == vector.text)
  }

  /// A large picture is read in blocks, which changes hardly a digit, and not the average.
  @Test(arguments: [(128, 128), (402, 301), (300, 512)])
  func blocksSayWhatPixelsSay(_ width: Int, _ height: Int) throws {
    var bytes: [UInt8] = []
    for y in 0..<height {
      for x in 0..<width {
        let (right, below) = (x * 8 / width % 2, y * 6 / height % 2)
        bytes += [UInt8(60 + 120 * right), UInt8(200 - 150 * below), UInt8(x * 255 / width)]
      }
    }
    let picture = try #require(RawPicture(width: width, height: height, bytes: bytes))
    let pixels = BlurHash.text(of: picture, across: 4, down: 3, block: 1)
    let blocks = BlurHash.text(of: picture, across: 4, down: 3, block: 4)
    #expect(pixels.prefix(6) == blocks.prefix(6))
    #expect(zip(pixels, blocks).count { $0 != $1 } <= 3, "\(pixels) \(blocks)")
    #expect(BlurHash.text(of: picture, across: 4, down: 3) == blocks)
  }

  @Test(arguments: [(1, 1, "L"), (300, 200, "L"), (200, 300, "T")])
  func hasAsManyComponentsAsItsShapeAsksFor(_ width: Int, _ height: Int, _ first: String) {
    let text = BlurHash.text(of: RawPicture(width: width, height: height, grey: 90))
    #expect(text.hasPrefix(first))
    #expect(text.utf8.count == 28)
  }
}
