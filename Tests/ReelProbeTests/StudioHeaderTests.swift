import ReelCore
import ReelTestSupport
import Testing

@testable import ReelProbe

/// The headers of ProRes and DNxHD frames, byte by byte.
struct StudioHeaderTests {
  /// From `prores_ks`, 1280x720: the frame size, `icpf`, and a 148-byte header with both quantization tables.
  private static func proRes(_ changes: [Int: UInt8] = [:]) -> [UInt8] {
    let head: [UInt8] =
      [0x00, 0x03, 0x00, 0xB9] + Array("icpf".utf8) + [0x00, 0x94, 0x00, 0x00] + Array("Lavc".utf8)
      + [0x05, 0x00, 0x02, 0xD0, 0x80, 0x00, 0x02, 0x02, 0x02, 0x00, 0x00, 0x03]
    return changing(head + [UInt8](repeating: 4, count: 128 + 40), changes)
  }

  @Test func aProResFrameIsRead() throws {
    let frame = try #require(ProResFrameHeader(Self.proRes()))
    #expect((frame.width, frame.height) == (1280, 720))
    #expect(!frame.isFullChroma && !frame.hasAlpha)
    #expect(frame.colour == VideoUsability.Colour(primaries: 2, transfer: 2, matrix: 2))
    let other = try #require(ProResFrameHeader(Self.proRes([20: 0xC0, 22: 9, 23: 16, 24: 9, 25: 2])))
    #expect(other.isFullChroma && other.hasAlpha)
    #expect(other.colour == VideoUsability.Colour(primaries: 9, transfer: 16, matrix: 9))
  }

  @Test(arguments: [
    (4, "another magic"), (11, "version 256"), (20, "no chroma"), (25, "an alpha of 15"),
    (9, "a shorter header"),
    (8, "a header beyond the frame"),
  ])
  func aProResFrameOfAnotherKindIsRefused(place: Int, what: String) {
    let values: [Int: UInt8] = [20: 0x00, 25: 0x0F, 9: 0x20, 8: 0x20, 11: 2]
    #expect(ProResFrameHeader(Self.proRes([place: values[place] ?? 0])) == nil, "\(what)")
  }

  /// From `dnxhd`, 1280x720, DNxHR SQ: 45 rows of macroblocks.
  private static func dnx(_ changes: [Int: UInt8] = [:]) -> [UInt8] {
    var head = [UInt8](repeating: 0, count: 0x280)
    head.replaceSubrange(0..<8, with: [0, 0, 2, 0x80, 3, 1, 0x80, 0xA0])
    head.replaceSubrange(0x18..<0x1C, with: [0x02, 0xD0, 0x05, 0x00])
    head[0x21] = 0x38
    head.replaceSubrange(0x28..<0x2C, with: [0, 0, 0x04, 0xF9])
    head[0x16D] = 45
    return changing(head + [UInt8](repeating: 0, count: 100), changes)
  }

  @Test func aDNxFrameIsRead() throws {
    let frame = try #require(DNxFrameHeader(Self.dnx()))
    #expect((frame.width, frame.height) == (1280, 720))
    #expect((frame.bitDepth, frame.compression) == (8, 1273))
    // Half the rows of an interlaced frame: the height is that of one field.
    let fields = try #require(DNxFrameHeader(Self.dnx([5: 3, 0x18: 0x02, 0x19: 0x1C, 0x16D: 34])))
    #expect((fields.width, fields.height) == (1280, 1080))
    let deep = try #require(DNxFrameHeader(Self.dnx([0x21: 0x58, 0x2B: 0xF7])))
    #expect((deep.bitDepth, deep.compression) == (10, 1271))
  }

  @Test(
    arguments: [
      ([4: 2], "4:4:4 by its prefix"), ([0x2C: 0x40], "4:4:4 by its flag"), ([7: 0xA1], "alpha"),
      ([0x21: 0x18], "no bit depth"), ([0x21: 0x58], "10 bits where the ID has 8"),
      ([0x2B: 0x00], "no such ID"),
      ([0x2A: 0x04, 0x2B: 0xD5], "DNxHD 145, which is 1920 wide"), ([0x16D: 46], "more rows than lines"),
      ([0x16D: 0], "no rows"), ([0x171: 1], "a row beyond the frame"), ([0: 1], "another prefix"),
    ] as [([Int: UInt8], String)])
  func aDNxFrameOfAnotherKindIsRefused(changes: [Int: UInt8], what: String) {
    #expect(DNxFrameHeader(Self.dnx(changes)) == nil, "\(what)")
  }

  @Test func everyPrefixAndEveryNoiseIsReadOrRefused() {
    for whole in [Self.proRes(), Self.dnx()] {
      for length in 0..<whole.count {
        _ = ProResFrameHeader(whole.prefix(length))
        _ = DNxFrameHeader(whole.prefix(length))
      }
      #expect(ProResFrameHeader(whole.prefix(147)) == nil)
      #expect(DNxFrameHeader(whole.prefix(0x27F)) == nil)
    }
    var generator = SplitMix64(seed: 17)
    for round in 0..<4000 {
      var noisy = round.isMultiple(of: 2) ? Self.proRes() : Self.dnx()
      for _ in 0..<3 {
        noisy[Int.random(in: 0..<noisy.count, using: &generator)] = UInt8.random(
          in: 0...255, using: &generator)
      }
      if let frame = ProResFrameHeader(noisy) { #expect(frame.width > 0 && frame.height > 0) }
      if let frame = DNxFrameHeader(noisy) { #expect(frame.width > 0 && frame.height > 0) }
    }
  }

  private static func changing(_ bytes: [UInt8], _ changes: [Int: UInt8]) -> [UInt8] {
    var bytes = bytes
    for (place, value) in changes { bytes[place] = value }
    return bytes
  }
}
