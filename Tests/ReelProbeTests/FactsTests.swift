import FoundationEssentials
import ReelCore
import Testing

@testable import ReelProbe

struct FactsTests {
  @Test(
    arguments: [
      ("1970-01-01T00:00:00Z", nil), ("2024-05-01T10:11:12.000000Z", 1_714_558_272),
      ("2024-05-01T12:11:12+0200", 1_714_558_272), ("2024-05-01T12:11:12+02:00", 1_714_558_272),
      ("2024-05-01T05:11:12.5-0500", 1_714_558_272), ("2024-02-29 00:00:00Z", 1_709_164_800),
      ("2000-03-01T00:00:00Z", 951_868_800), ("1904-01-01T00:00:00.000000Z", nil), ("2024-05-01", nil),
      ("2024-05-01T10:11:12", nil), ("2024-13-01T10:11:12Z", nil), ("2024-05-01T25:11:12Z", nil),
      ("2024-05-01T10:11:12+99:00", nil), ("", nil), ("not a time, but long enough Z", nil),
      ("２０２４-05-01T10:11:12Z", nil), ("2024-02-30T10:11:12Z", nil), ("2023-02-29T10:11:12Z", nil),
      ("2100-02-29T10:11:12Z", nil), ("2000-02-29T00:00:00Z", 951_782_400), ("2024-04-31T10:11:12Z", nil),
      ("2024-12-31T00:00:00Z", 1_735_603_200),
    ] as [(String, Double?)])
  func timesAreReadAsUTC(text: String, seconds: Double?) {
    #expect(CreationTime.parse(text)?.timeIntervalSince1970 == seconds)
  }

  @Test(
    arguments: [
      (["location": "+48+011/"], true), (["location-eng": ""], true),
      (["com.apple.quicktime.location.iso6709": "x"], true), (["gpscoordinates": "x"], true),
      (["RECORDING_LOCATION": ""], true), (["ARTIST/Latitude": ""], true), (["geo": ""], true),
      (["relocation": ""], false),
      (["title": "location"], false), (["com.apple.quicktime.content.identifier": "x"], false), ([:], false),
    ] as [([String: String], Bool)])
  func placesAreKnownByTheirNames(tags: [String: String], isPlace: Bool) {
    #expect(tags.keys.contains(where: MetadataKey.namesPlace) == isPlace)
  }

  @Test func blankTagsSayNothing() {
    #expect(Tags(["title": " \n\0 "]).first(of: "title") == nil)
    #expect(Tags(["title": "", "name": " x "]).first(of: "title", "name") == "x")
  }

  @Test(
    arguments: [
      (2.0, 1000, true), (0, 1000, false), (-1, 1000, false), (.nan, 1000, false), (.infinity, 1000, false),
      (31_535_999, 1000, true), (31_536_000, 1000, false), (0.001, 1 << 50, false),
    ] as [(Double, Int64, Bool)])
  func durationsBeyondSenseAreNone(seconds: Double, size: Int64, isMeant: Bool) {
    #expect((FoundDuration(seconds, .container, size: size) != nil) == isMeant)
  }

  @Test func shownSizesStayWithinSense() {
    let wide = Rational(Int(Int32.max), 1).map(SampleAspectRatio.init)
    #expect(DisplaySize(storedWidth: 64, storedHeight: 48, pixel: wide, swapped: false) == nil)
    #expect(DisplaySize(storedWidth: 0, storedHeight: 48, pixel: nil, swapped: false) == nil)
    let turned = DisplaySize(
      storedWidth: 64, storedHeight: 48, pixel: Rational(3, 2).map(SampleAspectRatio.init), swapped: true)
    #expect(turned?.width == 48)
    #expect(turned?.height == 96)
  }

  @Test func everyPixelFormatHasANameAndSensibleBits() {
    for format in Int32(0)..<400 {
      guard let layout = PixelLayout(format) else { continue }
      #expect(!layout.name.isEmpty)
      #expect(layout.bitDepth.map { (1...64).contains($0) } ?? true, "\(layout.name)")
    }
    #expect(PixelLayout(-1) == nil)
    #expect(PixelLayout(.max) == nil)
    #expect(PixelLayout(0) != nil)
  }

  @Test func aMatrixOfEightNumbersIsNone() {
    #expect(DisplayRotation(matrix: [Int32](repeating: 1, count: 8)) == nil)
  }
}
