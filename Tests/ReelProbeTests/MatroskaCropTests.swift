import ReelCore
import ReelProbe
import ReelTestSupport
import Testing

/// Pixels that Matroska crops (PixelCrop…, RFC 9559) are not displayed; each file is assembled byte by byte.
struct MatroskaCropTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var crop: (Int, Int, Int, Int)?
    var display: (Int, Int, Int)?
    var picture: (Int, Int)?
    var tracksBefore = 0
    /// The displayed size.
    let size: (Int, Int)
    let pixel: String?
    var warning: MediaWarning.Code?

    var testDescription: String {
      "crop \(crop as Any), display \(display as Any), picture \(picture as Any)"
    }

    static let all = [
      Case(size: (64, 48), pixel: "1:1"),
      Case(crop: (0, 0, 0, 0), size: (64, 48), pixel: "1:1"),
      Case(crop: (8, 8, 0, 0), size: (48, 48), pixel: "1:1"),
      Case(crop: (1, 3, 5, 7), size: (60, 36), pixel: "1:1"),
      // The rest is displayed at the size of the whole, so the pixels are not square.
      Case(crop: (8, 8, 0, 0), display: (64, 48, 0), size: (64, 48), pixel: "4:3"),
      Case(crop: (0, 0, 6, 6), display: (16, 9, 3), size: (64, 36), pixel: "1:1"),
      Case(crop: (8, 8, 0, 0), display: (64, 48, 4), size: (48, 48), pixel: nil),
      // Nothing would remain.
      Case(crop: (32, 32, 0, 0), size: (64, 48), pixel: "1:1", warning: .croppingMismatch),
      Case(crop: (0, 0, 0, 1000), size: (64, 48), pixel: "1:1", warning: .croppingMismatch),
      // The pictures differ from the size that is cropped.
      Case(crop: (0, 0, 0, 8), picture: (64, 40), size: (64, 40), pixel: nil, warning: .sizeMismatch),
      // A player shows the second track's picture, which is cropped.
      Case(crop: (8, 8, 0, 0), tracksBefore: 1, size: (48, 48), pixel: "1:1"),
    ]
  }

  /// FFmpeg 7.1 and newer refuse a file of whose pictures nothing would remain.
  static let mayRefuse = !FFmpegReader.version.split(separator: ".").compactMap { Int($0) }
    .lexicographicallyPrecedes([61, 7])

  @Test(arguments: Case.all, [false, true]) func whatIsCutOffIsNotShown(example: Case, inFull: Bool) throws {
    let file = SmallMatroska(
      picture: example.picture, crop: example.crop, display: example.display,
      tracksBefore: example.tracksBefore)
    let reading: Reading
    do {
      reading = try #require(OpenFile(holding: file.bytes)).read(as: .matroska, alwaysFull: inFull)
    } catch let error as ProbeError where example.warning == .croppingMismatch && Self.mayRefuse {
      return #expect(error.code == .corrupt)
    }
    let video = try #require(reading.media.video)
    #expect((reading.method == .header) == (!inFull && example.picture == nil))
    #expect(video.width == example.size.0)
    #expect(video.height == example.size.1)
    #expect(video.storedWidth == (example.picture?.0 ?? 64))
    #expect(video.storedHeight == (example.picture?.1 ?? 48))
    if example.picture == nil { #expect(video.sampleAspectRatio?.description == example.pixel) }
    #expect(reading.media.warnings.map(\.code) == [example.warning].compactMap { $0 })
  }

  @Test(arguments: [0.25, 0.5, 0.9]) func ofACutFileItIsSaidHowMuchIsThere(part: Double) throws {
    let whole = SmallMatroska().bytes
    let cut = Array(whole.prefix(Int(Double(whole.count) * part)))
    let reading = try #require(OpenFile(holding: cut)).read(as: .matroska)
    let media = reading.media
    #expect(media.truncated == true)
    #expect(media.duration == 2)
    let present = try #require(media.presentDuration)
    #expect(abs(present - 2 * part) < 0.15, "\(present)")
    #expect(media.warnings.map(\.code) == [.truncated])
    #expect(media.warnings.first?.message.hasSuffix("of its 2.0 seconds are there") == true)
  }

  @Test func ofAWholeFileNothingIsSaid() throws {
    let reading = try #require(OpenFile(holding: SmallMatroska().bytes)).read(as: .matroska)
    #expect(reading.method == .header)
    #expect(reading.media.presentDuration == nil)
    #expect(reading.media.warnings == [])
  }

  @Test func flippedBitsNeverTrap() throws {
    var generator = SplitMix64(seed: 23)
    let whole = SmallMatroska(crop: (8, 8, 2, 2), display: (64, 48, 0), tracksBefore: 1).bytes
    for _ in 0..<500 {
      var bytes = whole
      for _ in 0..<Int.random(in: 1...8, using: &generator) {
        bytes[Int.random(in: 0..<400, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
      }
      let media = try? #require(OpenFile(holding: bytes)).read(as: .matroska).media
      #expect(media?.video?.width.map { $0 > 0 } ?? true)
      // A worker's reply with only one side is refused as impossible.
      #expect((media?.video?.storedWidth == nil) == (media?.video?.storedHeight == nil))
    }
  }
}
