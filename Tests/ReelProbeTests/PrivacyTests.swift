import Foundation
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelProbe

/// Private data in files of containers other than the MP4 family (for that family see `PlacesTests` of ReelMend).
@Suite("private data in a file")
struct PrivacyTests {
  private static let samples = Checkout.root.appendingPathComponent("Samples/clips")

  private static func sample(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: samples.appendingPathComponent(name)))
  }

  private static func read(_ bytes: [UInt8]) throws -> MediaInfo {
    let file = try #require(OpenFile(holding: bytes))
    return try file.read(as: try #require(file.sniffed)).media
  }

  /// Whether the pictures contain the location of the recording.
  private static func isPlaceInPictures(_ bytes: [UInt8]) throws -> Bool {
    let file = try #require(OpenFile(holding: bytes))
    return try file.read(as: try #require(file.sniffed)).rewriting.isPlaceInPictures
  }

  private static let text = Array("<x exif:GPSLatitude=\"48,7.4N\" exif:GPSLongitude=\"11,34E\"/>".utf8)
  /// Exif with a latitude.
  private static let tiff: [UInt8] = {
    var bytes: [UInt8] = Array("MM".utf8) + [0, 42, 0, 0, 0, 8]
    bytes += [0, 1, 0x88, 0x25, 0, 4, 0, 0, 0, 1, 0, 0, 0, 26, 0, 0, 0, 0]
    bytes += [0, 1, 0, 2, 0, 5, 0, 0, 0, 3, 0, 0, 0, 44, 0, 0, 0, 0]
    return bytes + [UInt8](repeating: 1, count: 24)
  }()
  /// The beginning of a C2PA manifest store.
  private static let manifest: [UInt8] =
    [0, 0, 0, 48] + Array("jumb".utf8) + [0, 0, 0, 40] + Array("jumdc2pa".utf8)
    + [UInt8](repeating: 0, count: 28)

  // MARK: Unchanged files

  @Test(arguments: [
    "old.avi", "transport.ts", "camcorder.m2ts", "program.mpg", "flash.flv", "windows.wmv", "theora.ogv",
    "studio.mxf",
    "matroska.mkv", "vp9.webm", "faststart.mp4", "cover.mp4", "fragmented.mp4", "old-phone.3gp",
  ]) func whatTellsNothingIsNotAccused(_ name: String) throws {
    let media = try Self.read(try Self.sample(name))
    #expect(media.hasLocation == false && media.contentCredentials == false)
  }

  // MARK: AVI

  private static func chunk(_ type: String, _ contents: [UInt8]) -> [UInt8] {
    let size = withUnsafeBytes(of: UInt32(contents.count).littleEndian) { Array($0) }
    return Array(type.utf8) + size + contents + (contents.count % 2 == 0 ? [] : [0])
  }

  private static func avi(with chunk: [UInt8]) throws -> [UInt8] {
    var bytes = try sample("old.avi")
    bytes += chunk
    let size = UInt32(bytes.count - 8)
    for place in 0..<4 { bytes[4 + place] = UInt8(truncatingIfNeeded: size >> UInt32(8 * place)) }
    return bytes
  }

  @Test(arguments: [
    ("INFO", chunk("LIST", Array("INFO".utf8) + chunk("ICNT", Array("Germany".utf8))), true, false),
    ("a comment", chunk("LIST", Array("INFO".utf8) + chunk("ICMT", Array("nothing".utf8))), false, false),
    ("Exif", chunk("strd", Array("AVIF".utf8) + [0, 0, 0, 0] + Array("Exif\0\0".utf8) + tiff), true, false),
    ("JUNK", chunk("JUNK", text), true, false), ("XMP", chunk("_PMX", text), true, false),
    ("gps0", chunk("gps0", [1, 2, 3, 4]), true, false), ("C2PA", chunk("C2PA", manifest), false, true),
  ]) func chunksOfAVI(_ name: String, _ chunk: [UInt8], _ isPlace: Bool, _ hasCredentials: Bool) throws {
    let media = try Self.read(try Self.avi(with: chunk))
    #expect(media.hasLocation == isPlace, "\(name)")
    #expect(media.contentCredentials == hasCredentials, "\(name)")
  }

  // MARK: ASF, FLV, Ogg, MPEG-TS

  @Test func xmpInASF() throws {
    let name: [UInt8] = [
      0xCB, 0xCF, 0x7A, 0xBE, 0xA9, 0x97, 0xE8, 0x42, 0x9C, 0x71, 0x99, 0x94, 0x91, 0xE3, 0xAF, 0xAC,
    ]
    let size = withUnsafeBytes(of: UInt64(24 + Self.text.count).littleEndian) { Array($0) }
    #expect(try Self.read(try Self.sample("windows.wmv") + name + size + Self.text).hasLocation == true)
  }

  @Test func scriptDataOfFLV() throws {
    let size = Self.text.count + 10
    var tag: [UInt8] = [18, 0, 0, UInt8(size), 0, 0, 0, 0, 0, 0, 0]
    tag += [2, 0, 7] + Array("onXMPDa".utf8) + Self.text
    tag += [0, 0, 0, UInt8(size + 11)]
    var bytes = try Self.sample("flash.flv")
    bytes.insert(contentsOf: tag, at: 13)
    #expect(try Self.read(bytes).hasLocation == true)
  }

  private static let aircraft: [UInt8] = [
    0x06, 0x0E, 0x2B, 0x34, 0x02, 0x0B, 0x01, 0x01, 0x0E, 0x01, 0x03, 0x01, 0x01, 0x00, 0x00, 0x00,
  ]
  private static let camera: [UInt8] =
    [0x17, 0xEE, 0x8C, 0x60, 0xF8, 0x4D, 0x11, 0xD9, 0x8C, 0xD6, 0x08, 0x00, 0x20, 0x0C, 0x9A, 0x66]
    + Array("MDPM".utf8)

  /// Messages may continue in the next packet, and are escaped.
  @Test(arguments: [
    ("unmanned aircraft", aircraft, true),
    ("camera with a position", camera + [1, 0xB2, 48, 0, 0, 3, 1], true),
    ("camera without", camera + [1, 0x18, 48, 0, 0, 3, 1], false),
    ("position of zeros", camera + [1, 0xB2, 0, 0, 3, 0, 0], false),
  ]) func messagesInTransport(_ name: String, _ message: [UInt8], _ isPlace: Bool) throws {
    var bytes = try Self.sample("transport.ts")
    for (number, part) in [message.prefix(11), message.dropFirst(11)].enumerated() {
      // A stream that no table lists, with stuffing.
      let stuffing = 183 - part.count
      let packet: [UInt8] =
        [0x47, 0x01, 0x99, 0x30 | UInt8(number), UInt8(stuffing), 0]
        + [UInt8](repeating: 0xFF, count: stuffing - 1) + part
      bytes.insert(contentsOf: packet, at: 188 * (2 + number))
    }
    #expect(try Self.read(bytes).hasLocation == isPlace, "\(name)")
    let isCamera = message.starts(with: Self.camera)
    #expect(try Self.isPlaceInPictures(bytes) == (isPlace && isCamera), "\(name)")
  }

  /// A message of Tesla's cars, as it precedes a picture.
  private static func car(
    header: [UInt8] = [6], padding: Int = 3, latitude: Double, longitude: Double = 0, isEscaped: Bool = true
  ) -> [UInt8] {
    func field(_ number: UInt8, _ value: Double) -> [UInt8] {
      value == 0 ? [] : [number << 3 | 1] + withUnsafeBytes(of: value.bitPattern.littleEndian, Array.init)
    }
    // The version, gear, frame number and speed.
    let fields: [UInt8] = [8, 1, 16, 1, 24, 0x85, 1, 37, 0, 0, 0x56, 0x41]
    let message =
      [UInt8](repeating: 0x42, count: padding) + [0x69] + fields + field(11, latitude) + field(12, longitude)
      + field(13, 270)
    var escaped: [UInt8] = []
    for byte in message {
      if byte <= 3, escaped.suffix(2) == [0, 0] { escaped.append(3) }
      escaped.append(byte)
    }
    return header + [5, UInt8(message.count)] + escaped + [0x80]
  }

  @Test(
    arguments: [
      (car(latitude: 37.3949, longitude: -122.1503), .location), (car(latitude: 37.5), .location),
      (car(header: [0x4E, 1], latitude: -37.3949), .location),
      (car(padding: 20, latitude: 37.3949), .location),
      // As long as its padding makes it.
      (car(padding: 26, latitude: 37.3949, longitude: -122.1503), .location), (car(latitude: 0), .identity),
      (car(latitude: 1e300), .identity), (car(padding: 0, latitude: 37.3949), .nothing),
      (car(header: [7], latitude: 37.3949), .nothing),
    ] as [([UInt8], Disclosure)])
  func messagesOfCars(_ message: [UInt8], _ disclosure: Disclosure) {
    let noise = [UInt8](repeating: 0x42, count: 300)
    #expect(CameraMessage.disclosure(of: message[...]) == disclosure)
    #expect(CameraMessage.disclosure(of: ([0, 0, 1] + message + noise)[...]) == disclosure)
    #expect(CameraMessage.disclosure(of: (noise + [0, 0, 1] + message)[300...]) == disclosure)
    for count in 0..<message.count where disclosure != .location {
      #expect(CameraMessage.disclosure(of: message.prefix(count)) != .location)
    }
  }

  // MARK: Transport streams of dashcams

  /// A stuffed packet of a stream that no table lists.
  private static func packet(_ payload: [UInt8]) -> [UInt8] {
    let stuffing = 183 - payload.count
    return [0x47, 0x41, 0x99, 0x30, UInt8(stuffing), 0] + [UInt8](repeating: 0xFF, count: stuffing - 1)
      + payload
  }

  private static func privateStream(_ name: UInt8, _ text: String) -> [UInt8] {
    [0, 0, 1, name, 0, UInt8(text.utf8.count)] + Array(text.utf8)
  }

  private static let sentence = "$GPRMC,123519,A,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W*6A"

  /// Also at the end, because there is no position before the satellites are found.
  @Test(
    arguments: [
      (privateStream(0xBD, sentence), true), (privateStream(0xBF, sentence), true),
      (privateStream(0xE0, sentence), false),
      (privateStream(0xBD, "\0\0LIGOGPSINFO\0"), true),
      (privateStream(0xBD, "GPS (13.6013, 49.7243, 16)"), true),
      (privateStream(0xBD, "with latitude and gratitude"), false),
      (Array(sentence.utf8), false),
    ], [false, true])
  func waysInTransport(_ stream: (bytes: [UInt8], isPlace: Bool), _ isLate: Bool) throws {
    let bytes = try Self.sample("transport.ts")
    let empty: [UInt8] = [0x47, 0x1F, 0xFF, 0x10] + [UInt8](repeating: 0xFF, count: 184)
    let own =
      isLate
      ? bytes + [[UInt8]](repeating: empty, count: 11_000).joined() + Self.packet(stream.bytes)
      : Array(bytes[..<376]) + Self.packet(stream.bytes) + bytes[376...]
    #expect(try Self.read(own).hasLocation == stream.isPlace)
  }

  // MARK: Tags written by FFmpeg

  @Test(
    .needsFFmpeg,
    arguments: [
      ("a.mkv", ["-metadata", "RECORDING_LOCATION=Berlin"], true),
      ("a.mkv", ["-metadata:s:v", "GPSLatitude=48"], true),
      ("a.webm", ["-c:v", "libvpx", "-metadata", "location=+48.1234+011.5678/"], true),
      ("a.mkv", ["-metadata", "comment=at +48.1234+011.5678/ it was"], true),
      ("a.mkv", ["-metadata", "comment=at a nice location"], false),
      ("a.ogv", ["-c:v", "libtheora", "-metadata:s:v", "LOCATION=Berlin"], true),
      ("a.flv", ["-metadata", "latitude=48.1"], true), ("a.wmv", ["-metadata", "WM/GPSLatitude=48.1"], true),
      ("a.mp4", ["-metadata", "location=+48.1234+011.5678/"], true),
      ("a.mov", ["-movflags", "use_metadata_tags", "-metadata", "com.example.gps=1"], true),
    ]) func tagsOfEveryContainer(_ name: String, _ arguments: [String], _ isPlace: Bool) throws
  {
    let made = try FFmpegTool.make(name, FFmpegTool.picture + ["-frames:v", "5"] + arguments)
    let media = try made.read(as: try #require(made.sniffed)).media
    #expect(media.hasLocation == isPlace)
  }

  // MARK: Positions that come late

  /// A camera that was just switched on has no position.
  @Test(arguments: [0, 40, 49]) func dataThatTellsLate(_ first: Int) throws {
    let (without, with): ([UInt8], [UInt8]) = ([0x85, 9, 0, 1, 0x56], [0x85, 1, 0, 1, 0x4E])
    let movie = SmallMovie(format: "rtmd", handler: "meta")
    var bytes = movie.bytes
    let start = bytes.count - movie.samples * movie.sampleSize
    for sample in 0..<movie.samples {
      let place = start + sample * movie.sampleSize
      bytes.replaceSubrange(place..<place + 5, with: sample < first ? without : with)
    }
    #expect(try Self.read(bytes).hasLocation == true)
    #expect(try Self.read(movie.bytes).hasLocation == false)
  }

  /// Chapters are free text, in which a camera's mark may be part of a word.
  @Test(arguments: [("Gratitude", false), ("+48.1234+011.5678/", true)], ["text", "tx3g"])
  func chapters(_ title: (text: String, isPlace: Bool), _ format: String) throws {
    var movie = SmallMovie(format: format, handler: "text")
    movie.sampleSize = 24
    var bytes = movie.bytes
    let text = [0, UInt8(title.text.utf8.count)] + Array(title.text.utf8)
    let start = bytes.count - movie.samples * movie.sampleSize
    for sample in 0..<movie.samples {
      let place = start + sample * movie.sampleSize
      bytes.replaceSubrange(place..<place + text.count, with: text)
    }
    #expect(try Self.read(bytes).hasLocation == title.isPlace)
  }

  /// Fragments of 2 s, each with one data sample.
  @Test(arguments: [false, true]) func fragmentsThatTellLate(_ isPlace: Bool) throws {
    var movie = SmallMovie(samples: 0, declaresFragments: true, format: "rtmd", handler: "meta")
    movie.claimedSamples = 0
    func fragment(_ number: UInt32, _ data: [UInt8]) -> [UInt8] {
      func boxes(_ offset: UInt32) -> [UInt8] {
        let header = SmallMovie.box(
          "tfhd",
          SmallMovie.u32(0x02_0018) + SmallMovie.u32(1) + SmallMovie.u32(2000)
            + SmallMovie.u32(UInt32(data.count)))
        let time = SmallMovie.box("tfdt", SmallMovie.u32(0) + SmallMovie.u32(2000 * (number - 1)))
        let run = SmallMovie.box("trun", SmallMovie.u32(1) + SmallMovie.u32(1) + SmallMovie.u32(offset))
        return SmallMovie.box(
          "moof",
          SmallMovie.box("mfhd", SmallMovie.u32(0) + SmallMovie.u32(number))
            + SmallMovie.box("traf", header + time + run))
      }
      return boxes(UInt32(boxes(0).count) + 8) + SmallMovie.box("mdat", data)
    }
    let last: [UInt8] = [0x85, 1, 0, 1, isPlace ? 0x4E : 0x56]
    let empty = [UInt8](repeating: 0xAB, count: 5)
    let parts = (UInt32(1)...30).flatMap { number -> [UInt8] in fragment(number, number == 30 ? last : empty)
    }
    #expect(try Self.read(Array(movie.bytes.dropLast(8)) + parts).hasLocation == isPlace)
  }

  private static func texts(_ count: Int, placeAt place: Int) -> [String] {
    (0..<count).map { $0 == place ? "GPS (13.6013, 49.7243)" : "no fix" }
  }

  /// One fragment with all the texts, each of its own size.
  @Test(
    arguments: [
      (["The GPS is gone", "It costs 12.3456 francs"], false),
      (["The GPS is gone", "GPS 12.3456, 7.8912"], true),
      (
        [String](repeating: String(repeating: "no fix yet ", count: 40), count: 30) + [
          "GPS (13.6013, 49.7243)"
        ], true
      ),
      // The very samples that mending examines, not some beside them.
      (texts(200, placeAt: SampleSearch.numbers(of: 200)[9]), true), (texts(200, placeAt: 57), false),
    ])
  func textsInAFragment(_ texts: [String], _ isPlace: Bool) throws {
    var movie = SmallMovie(samples: 0, declaresFragments: true, format: "tx3g", handler: "text")
    movie.claimedSamples = 0
    let samples = texts.map { [UInt8($0.utf8.count >> 8), UInt8($0.utf8.count & 0xFF)] + Array($0.utf8) }
    func boxes(_ offset: UInt32) -> [UInt8] {
      let header = SmallMovie.box(
        "tfhd", SmallMovie.u32(0x02_0008) + SmallMovie.u32(1) + SmallMovie.u32(2000))
      let time = SmallMovie.box("tfdt", SmallMovie.u32(0) + SmallMovie.u32(0))
      let run = SmallMovie.box(
        "trun",
        SmallMovie.u32(0x201) + SmallMovie.u32(UInt32(samples.count)) + SmallMovie.u32(offset)
          + samples.flatMap { SmallMovie.u32(UInt32($0.count)) })
      return SmallMovie.box(
        "moof",
        SmallMovie.box("mfhd", SmallMovie.u32(0) + SmallMovie.u32(1))
          + SmallMovie.box("traf", header + time + run))
    }
    let parts = boxes(UInt32(boxes(0).count) + 8) + SmallMovie.box("mdat", samples.flatMap { $0 })
    #expect(try Self.read(Array(movie.bytes.dropLast(8)) + parts).hasLocation == isPlace)
  }

  @Test(
    arguments: [
      (["F/2.8, GPS (13.6013, 49.7243, 16), D 43.14m"], true), (["GPS is off", "3.1 km"], false),
      ([String](repeating: "GPS: no fix", count: 49) + ["[latitude: 49.724300]"], true),
    ])
  func subtitlesOfMatroska(_ texts: [String], _ isPlace: Bool) throws {
    let file = try #require(OpenFile(holding: SmallMatroska(frames: 25 * texts.count, texts: texts).bytes))
    let reading = try file.read(as: .matroska)
    #expect(reading.media.hasLocation == isPlace && reading.rewriting.isPlaceInText == isPlace)
  }

  /// A camera's messages precede pictures that contain no others.
  @Test func picturesOfMatroskaThatTellLate() throws {
    var bytes = SmallMatroska(frames: 1500).bytes
    #expect(try Self.read(bytes).hasLocation == false)
    let message = Self.camera + [1, 0xB2, 48, 0, 0, 3, 1]
    let last = bytes.count - 90
    bytes.replaceSubrange(last..<last + message.count, with: message)
    #expect(try Self.read(bytes).hasLocation == true && Self.isPlaceInPictures(bytes))
  }

  /// Exif as photos have it, with a latitude if `isPlace`, and with an orientation.
  private static func exif(isPlace: Bool, orientation: UInt8) -> [UInt8] {
    func entry(_ tag: [UInt8], _ kind: UInt8, _ count: UInt8, _ value: [UInt8]) -> [UInt8] {
      tag + [0, kind, 0, 0, 0, count] + value
    }
    let tiff: [UInt8] =
      [0x4D, 0x4D, 0, 0x2A, 0, 0, 0, 8, 0, 2] + entry([0x01, 0x12], 3, 1, [0, orientation, 0, 0])
      + entry([0x88, 0x25], 4, 1, [0, 0, 0, 38]) + [0, 0, 0, 0]
      + [0, 1] + entry([0, isPlace ? 2 : 5], 5, 3, [0, 0, 0, 60]) + [0, 0, 0, 0]
      + [UInt8](repeating: 1, count: 24)
    let segment = Array("Exif\0\0".utf8) + tiff
    return [0xFF, 0xE1, 0, UInt8(segment.count + 2)] + segment
  }

  /// A series of photos that was made a video with `-c copy`.
  @Test(
    .needsFFmpeg, arguments: ["a.mov", "a.mkv", "a.avi"],
    [(true, 6), (false, 1), (false, 3)] as [(Bool, UInt8)])
  func photosInMotion(_ name: String, _ photo: (isPlace: Bool, orientation: UInt8)) throws {
    let folder = try TemporaryFolder()
    let coded = ["-frames:v", "1", "-c:v", "mjpeg", "-pix_fmt", "yuvj420p"]
    let made = try FFmpegTool.make("a.jpg", FFmpegTool.picture + coded).allBytes
    let exif = Self.exif(isPlace: photo.isPlace, orientation: photo.orientation)
    for number in 1...3 { try folder.write(made[..<2] + exif + made[2...], to: "\(number).jpg") }
    let series = ["-f", "image2", "-framerate", "5", "-i", folder.path(of: "%d.jpg"), "-c", "copy"]
    let bytes = try FFmpegTool.make(name, series).allBytes
    let media = try Self.read(bytes)
    #expect(media.hasLocation == photo.isPlace)
    #expect(try Self.isPlaceInPictures(bytes) == photo.isPlace)
    #expect(media.video?.rotation == 0 && media.video?.width == 64)
    let turned = media.warnings.filter { $0.fact == "video.rotation" }
    #expect(turned.map(\.code) == (photo.orientation == 1 ? [] : [.claimUnchecked]), "\(media.warnings)")
    #expect(
      turned.first?.stated == (photo.orientation == 6 ? .number(90) : turned.isEmpty ? nil : .number(180)))
  }

  @Test(arguments: [("GPS (13.6013, 49.7243, 16)", true), ("it rains", false)])
  func subtitlesOfAVI(_ text: String, _ isPlace: Bool) throws {
    func u32(_ numbers: Int...) -> [UInt8] {
      numbers.flatMap { number in withUnsafeBytes(of: UInt32(number).littleEndian, Array.init) }
    }
    func header(_ kind: String, _ codec: [UInt8]) -> [UInt8] {
      Self.chunk(
        "strh",
        Array(kind.utf8) + codec + u32(0, 0, 0, 1, 25, 0, 50, 100, -1 & 0xFFFF_FFFF, 0) + [
          0, 0, 0, 0, 64, 0, 48, 0,
        ])
    }
    func list(_ kind: String, _ contents: [UInt8]) -> [UInt8] {
      Self.chunk("LIST", Array(kind.utf8) + contents)
    }
    let format = Self.chunk(
      "strf", u32(40, 64, 48) + [1, 0, 24, 0] + Array("MJPG".utf8) + u32(9216, 0, 0, 0, 0))
    let headers = list(
      "hdrl",
      Self.chunk("avih", u32(40_000, 0, 0, 0x10, 50, 0, 2, 0, 64, 48, 0, 0, 0, 0))
        + list("strl", header("vids", Array("MJPG".utf8)) + format)
        + list("strl", header("txts", [0, 0, 0, 0]) + Self.chunk("strf", [])))
    var (movie, index): ([UInt8], [UInt8]) = ([], [])
    for number in 0..<50 {
      let picture = [0xFF, 0xD8, 0xFF, 0xD9] + [UInt8](repeating: 1, count: 60)
      for (name, data) in [("00dc", picture), ("01tx", Array((number < 40 ? "nothing yet" : text).utf8))] {
        index += Array(name.utf8) + u32(16, movie.count + 4, data.count)
        movie += Self.chunk(name, data)
      }
    }
    let all = Array("AVI ".utf8) + headers + list("movi", movie) + Self.chunk("idx1", index)
    #expect(try Self.read(Self.chunk("RIFF", all)).hasLocation == isPlace)
  }

  // MARK: Between and after samples

  private static let block = Array("freeGPS ".utf8) + [UInt8](repeating: 0, count: 64)

  /// Dashcams write blocks into the media data that belong to no sample.
  @Test(arguments: [block, [UInt8](repeating: 0x11, count: 72)], [false, true])
  func gapsOfMediaData(_ block: [UInt8], _ isFirst: Bool) throws {
    var movie = MovieBytes(SmallMovie().bytes)
    let data = try #require(movie.box("mdat"))
    let isThere = movie.insert(block, at: isFirst ? data : movie.bytes.count, in: "mdat")
    #expect(isThere)
    let places = try #require(movie.box("moov/trak/mdia/minf/stbl/stco"))
    if isFirst { movie.write(movie.number(at: places + 8) + UInt64(block.count), at: places + 8) }
    let media = try Self.read(movie.bytes)
    #expect(media.hasLocation == (block == Self.block))
  }

  /// Data in samples is not a gap.
  @Test func samplesAreNoGaps() throws {
    var bytes = SmallMovie().bytes
    bytes.replaceSubrange(bytes.count - 72..<bytes.count, with: Self.block)
    #expect(try Self.read(bytes).hasLocation == false)
  }

  /// - Parameter found: For each position, whether the satellites were found.
  private static func trailer(_ found: [Bool]) -> [UInt8] {
    func little(_ number: Int, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
    func record(_ kind: Int, _ contents: [UInt8]) -> [UInt8] {
      contents + little(kind, 2) + little(contents.count, 4)
    }
    let positions = found.flatMap {
      [UInt8](repeating: 9, count: 10) + [$0 ? 0x41 : 0x56] + [UInt8](repeating: 7, count: 42)
    }
    let records =
      record(0x300, [UInt8](repeating: 0x80, count: 70_000)) + record(0x700, positions)
      + record(0x101, [UInt8](repeating: 3, count: 40))
    return records + [UInt8](repeating: 0, count: 32) + little(records.count + 72, 4) + [3, 0, 0, 0]
      + Array("8db42d694ccc418790edff439fe026bf".utf8)
  }

  @Test(
    arguments: [([true], true), ([false, false, true], true), ([false], false), ([], false)], [false, true])
  func trailersOfCameras(_ positions: (found: [Bool], isPlace: Bool), _ isInBox: Bool) throws {
    let trailer = Self.trailer(positions.found)
    let bytes = SmallMovie().bytes + (isInBox ? SmallMovie.box("inst", trailer) : trailer)
    #expect(try Self.read(bytes).hasLocation == positions.isPlace)
    for count in [1, 40, 79, 200] {
      #expect(try Self.read(Array(bytes.dropLast(count))).hasLocation == false)
    }
  }

  // MARK: Matroska attachments

  private static func attachment(_ type: String, _ bytes: [UInt8]) -> [UInt8] {
    SmallMatroska.element(
      0x1941_A469,
      SmallMatroska.element(
        0x61A7,
        SmallMatroska.text(0x466E, "a") + SmallMatroska.text(0x4660, type) + SmallMatroska.number(0x46AE, 7)
          + SmallMatroska.element(0x465C, bytes)))
  }

  @Test(
    arguments: [
      ("application/c2pa", manifest, false, true), ("application/octet-stream", manifest, false, true),
      ("application/gpx+xml", text, true, false), ("text/plain", Array("nothing of it".utf8), false, false),
    ], [true, false]) func attachments(
      _ attached: (type: String, bytes: [UInt8], isPlace: Bool, hasCredentials: Bool), _ isBefore: Bool
    ) throws
  {
    var file = SmallMatroska()
    let attachment = Self.attachment(attached.type, attached.bytes)
    if isBefore { file.beforeClusters = attachment } else { file.behindClusters = attachment }
    let media = try Self.read(file.bytes)
    #expect(media.hasLocation == attached.isPlace && media.contentCredentials == attached.hasCredentials)
  }

  // MARK: Cases reported to other tools

  private static let cases = samples.deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("shared/cases/probe")

  @Test(
    .enabled(if: FileManager.default.fileExists(atPath: cases.path), "needs ../shared/cases"),
    arguments: ["xmp-gps.mp4", "dashcam-gps-box.mp4", "loci.3gp", "apple-keys-creationdate-location.mov"])
  func casesOfOthers(_ name: String) throws {
    #expect(
      try Self.read(Array(try Data(contentsOf: Self.cases.appendingPathComponent(name)))).hasLocation == true)
  }

  // MARK: Tracks and manifests of the MP4 family

  /// Players show only the first of two movies.
  @Test func aMovieBehindAnotherGivesAwayItsPlace() throws {
    let (plain, place) = (try Self.sample("faststart.mp4"), try Self.sample("phone-located.mov"))
    #expect(try Self.read(plain).hasLocation == false)
    #expect(try Self.read(plain + place).hasLocation == true)
  }

  @Test(arguments: [
    ("mett", "application/arcore-gyro", false), ("mett", "application/gps", true),
    ("urim", "urn:misb:KLV:bin:1910.1", true), ("djmd", "", true), ("rtmd", "", false),
  ]) func tracksOfMetadata(_ format: String, _ name: String, _ isPlace: Bool) throws {
    let movie = SmallMovie(format: format, entryExtra: SmallMovie.box("abcd", Array(name.utf8)))
    #expect(try Self.read(movie.bytes).hasLocation == isPlace)
  }

  @Test func credentialsOfAMovie() throws {
    let head: [UInt8] =
      ContentCredentials.box + [0, 0, 0, 0] + Array("manifest\0".utf8) + [UInt8](repeating: 0, count: 8)
    let box = SmallMovie.box("uuid", head + Self.manifest)
    #expect(try Self.read(SmallMovie().bytes + box).contentCredentials == true)
    #expect(
      try Self.read(SmallMovie(extra: SmallMovie.box("uuid", [UInt8](repeating: 3, count: 40))).bytes)
        .contentCredentials == false)
    let reference = Array("<x dcterms:provenance=\"https://example.com/m.c2pa\"/>".utf8)
    let xmp: [UInt8] = [
      0xBE, 0x7A, 0xCF, 0xCB, 0x97, 0xA9, 0x42, 0xE8, 0x9C, 0x71, 0x99, 0x94, 0x91, 0xE3, 0xAF, 0xAC,
    ]
    #expect(
      try Self.read(SmallMovie().bytes + SmallMovie.box("uuid", xmp + reference)).contentCredentials == true)
  }
}
