import ReelTestSupport
import Testing

@testable import ReelProbe

@Suite("the search for locations")
struct PlaceSearchTests {
  @Test(
    "a mark is found at any position, and none in noise",
    arguments: [
      "GPSL", "GPSA", "gps_", "ExifGPS", "freeGPS", "atitude", "$GNGGA", "ISO6709", "geo:lat",
      "photoshop:City",
      ":CountryCode", "GeoPos", "+48.1234+011.5678", "-12.50-009.25/", "+37.3318-122.0312+005.123/",
      "+37.3318-122.0312+5/",
    ])
  func marks(_ mark: String) {
    // The noise has no byte in common with the marks.
    var draws = SplitMix64(seed: 7)
    let noise = draws.bytes(5000).map { $0 | 0x80 }
    #expect(!PlaceSearch.finds(in: noise[...]))
    for place in [0, 1, 2500, 5000] {
      let bytes = noise[..<place] + Array(mark.utf8) + noise[place...]
      #expect(PlaceSearch.finds(in: bytes[...]), "\(mark) at \(place)")
      // A slice that does not start at the beginning of its array.
      #expect(PlaceSearch.finds(in: bytes[place...]), "\(mark) at \(place)")
    }
  }

  @Test(
    "only two precise, signed numbers count as a position",
    arguments: [
      ("+48.12+011.56", true), ("x+48.12+011.56/", true), ("+1+48.12+011.56/", true), ("+48.12", false),
      ("+48.12 +011.56", false), ("+8.12+011.56", false), ("+48.1+011.56", false), ("+48.12+011.5", false),
      ("+48+011/", false), ("+12345678.12+011.56", false), ("+48.12+", false), ("", false), ("+", false),
    ])
  func positions(_ text: String, _ expected: Bool) {
    #expect(PlaceSearch.findsPosition(in: Array(text.utf8)[...]) == expected)
    #expect(PlaceSearch.finds(in: Array("--------\(text)".utf8)[...]) == expected)
  }

  /// - Parameter angles: The values of Novatek's record, in degrees and minutes.
  private static func record(_ head: String, _ angles: [Float]) -> [UInt8] {
    Array(head.utf8)
      + angles.flatMap { angle in withUnsafeBytes(of: angle.bitPattern.littleEndian, Array.init) }
  }

  @Test(
    "a dashcam's track is found",
    arguments: [
      (Array("$GNRMC,081836,A,3751.6512,S".utf8), true), (Array("LIGOGPSINFO".utf8), true),
      (record("ANE\0", [4807.404, 1130.94]), true), (record("ASW\0", [12.5, 17959.9]), true),
      (record("ANE\0", [9107.4, 1130.94]), false), (record("ANE\0", [4860.5, 1130.94]), false),
      (record("ANE\0", [0, 0]), false), (record("ANE\0", [.nan, 12]), false),
      (record("VNE\0", [4807, 1130]), false),
      (record("ANE\0", [4807]), false), (Array("full of gratitude, latitude and GPSL".utf8), false),
    ])
  func ways(_ bytes: [UInt8], _ expected: Bool) {
    let noise = [UInt8](repeating: 0xC1, count: 100)
    #expect(PlaceSearch.findsWay(in: bytes[...]) == expected)
    #expect(PlaceSearch.findsWay(in: (noise + bytes + noise)[50...]) == (expected))
  }

  @Test(
    "text shows a position by its decimals or its hemisphere",
    arguments: [
      ("GPS 48.1234", true), ("$GPRMC,123519,A,4807.038,N,01131.000,E,022.4", true),
      ("$GNGGA,123519,3751.65,S,14507.36,E", true), ("GPS 48.123, north", false), ("RMC,123519,V,,,,", false),
      ("GPS for 3.50,Now", false), ("48.1234", false), ("latitude 4807.038,N,01131.000,E", true),
      ("it was 4807.038,N,01131.000,E", false),
    ])
  func texts(_ text: String, _ expected: Bool) {
    #expect(PlaceSearch.findsInText(Array(text.utf8)[...]) == expected)
    #expect(PlaceSearch.findsInText(Array("--\(text)".utf8)[2...]) == expected)
  }

  @Test("the first samples are searched, and some others up to the last one")
  func samples() {
    #expect(SampleSearch.numbers(of: 0).isEmpty && SampleSearch.numbers(of: 0) { _ in true }.isEmpty)
    #expect(SampleSearch.numbers(of: 1) == [0] && SampleSearch.numbers(of: 3) == [0, 1, 2])
    #expect(SampleSearch.numbers(of: 71) == Array(0..<8) + [10, 20, 30, 40, 50, 60, 70])
    #expect(SampleSearch.numbers(of: 1_000_000, isFar: true) == Array(0..<8) + [999_999])
    #expect(SampleSearch.numbers(of: 71) { $0 % 25 == 0 } == [0, 25, 50])
    #expect(SampleSearch.numbers(of: 71, isFar: true) { $0 % 25 == 0 } == [0, 50])
    // If none is marked, they are used as they are.
    #expect(SampleSearch.numbers(of: 8) { _ in false } == Array(0..<8))
  }

  @Test("a latitude in Exif is found after its name, among others without one")
  func exif() {
    // TIFF, little-endian: a directory with a single entry, the latitude.
    let latitude: [UInt8] = [
      0x49, 0x49, 0x2A, 0, 8, 0, 0, 0, 1, 0, 2, 0, 5, 0, 3, 0, 0, 0, 26, 0, 0, 0, 0, 0, 0, 0,
    ]
    let name = Array("Exif\0\0".utf8)
    #expect(PlaceSearch.finds(in: latitude[...]))
    #expect(PlaceSearch.finds(in: (name + [0] + name + name + latitude)[...]))
    #expect(!PlaceSearch.finds(in: (name + [0] + latitude)[...]))
  }
}
