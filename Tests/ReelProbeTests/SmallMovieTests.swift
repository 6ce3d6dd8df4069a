import FoundationEssentials
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelProbe

/// Corner cases of ISO base media files, each assembled byte by byte.
struct SmallMovieTests {
  private func read(_ movie: SmallMovie, limits: ReadingLimits = .patient) throws -> MediaInfo {
    try read(movie.bytes, limits: limits)
  }

  private func read(_ bytes: [UInt8], limits: ReadingLimits = .patient) throws -> MediaInfo {
    let file = try #require(OpenFile(holding: bytes))
    return try file.read(as: .mp4, limits: limits).media
  }

  private func failure(_ bytes: [UInt8], limits: ReadingLimits = .patient) -> ProbeError? {
    #expect(throws: ProbeError.self) { _ = try read(bytes, limits: limits) }
  }

  // MARK: The ordinary case

  @Test func aPlainFileIsReadWithoutWarnings() throws {
    let media = try read(SmallMovie())
    #expect(media.container == .mp4)
    #expect(media.duration == 2)
    #expect(media.durationSource == .container)
    #expect(media.truncated == false)
    #expect(media.fastStart == true)
    #expect(media.fragmented == false)
    #expect(media.encrypted == false)
    #expect(media.hasLocation == false)
    #expect(media.video?.codec == "mjpeg")
    #expect(media.video?.width == 64)
    #expect(media.video?.height == 48)
    #expect(media.video?.streams == 1)
    #expect(media.video?.hasCover == false)
    #expect(media.video?.hasSamples == true)
    #expect(media.video?.frameRate?.description == "25/1")
    #expect(media.video?.variableFrameRate == false)
    #expect(media.warnings == [])
  }

  @Test(
    arguments: [
      ("isom", .mp4), ("mp42", .mp4), ("qt  ", .mov), ("M4V ", .m4v), ("M4VH", .m4v), ("3gp4", .threeGP),
      ("3gs7", .threeGP), ("3ge6", .threeGP), ("3g2a", .threeG2), ("dash", .mp4), ("f4v ", .mp4), (nil, .mov),
    ] as [(String?, MediaContainer)])
  func theBrandDecidesTheContainer(brand: String?, container: MediaContainer) throws {
    let file = try #require(OpenFile(holding: SmallMovie(brand: brand).bytes))
    #expect(file.sniffed == container)
    #expect(try file.read(as: .mp4).media.container == container)
  }

  @Test func anIndexAtTheEndIsNoFastStart() throws {
    #expect(try read(SmallMovie(fastStart: false)).fastStart == false)
  }

  // MARK: Rotated, mirrored, stretched

  /// A transformation by the matrix [a b; c d] of integers.
  struct Turn: Sendable {
    let matrix: (Int32, Int32, Int32, Int32)
    let rotation: Int
    let mirrored: Bool
    static let all: [Turn] = [
      Turn(matrix: (1, 0, 0, 1), rotation: 0, mirrored: false),
      Turn(matrix: (0, 1, -1, 0), rotation: 90, mirrored: false),
      Turn(matrix: (-1, 0, 0, -1), rotation: 180, mirrored: false),
      Turn(matrix: (0, -1, 1, 0), rotation: 270, mirrored: false),
      // A vertical flip; a horizontal one is that plus half a turn.
      Turn(matrix: (1, 0, 0, -1), rotation: 0, mirrored: true),
      Turn(matrix: (-1, 0, 0, 1), rotation: 180, mirrored: true),
      Turn(matrix: (0, 1, 1, 0), rotation: 90, mirrored: true),
      Turn(matrix: (0, -1, -1, 0), rotation: 270, mirrored: true),
    ]
  }

  @Test(arguments: Turn.all) func aMatrixTurnsThePicture(turn: Turn) throws {
    let (a, b, c, d) = turn.matrix
    let matrix: [Int32] = [a << 16, b << 16, 0, c << 16, d << 16, 0, 0, 0, 1 << 30]
    let video = try #require(try read(SmallMovie(matrix: matrix)).video)
    #expect(video.rotation == turn.rotation)
    #expect(video.mirrored == turn.mirrored)
    #expect(video.storedWidth == 64)
    #expect(video.storedHeight == 48)
    #expect(video.width == (turn.rotation % 180 == 90 ? 48 : 64))
    #expect(video.height == (turn.rotation % 180 == 90 ? 64 : 48))
  }

  @Test(arguments: [
    [Int32](repeating: 0, count: 9), [0, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30],
    [1 << 16, 0, 0, 0, 0, 0, 0, 0, 1 << 30],
  ])
  func aMatrixWithoutAnAngleLeavesThePictureAsItIs(matrix: [Int32]) throws {
    let media = try read(SmallMovie(matrix: matrix))
    #expect(media.video?.rotation == nil)
    #expect(media.video?.mirrored == nil)
    #expect(media.video?.width == 64)
    #expect(media.video?.height == 48)
    #expect(media.warnings.map(\.message) == ["its display matrix has no angle; it is shown as it is stored"])
  }

  @Test func theExtremesOfAMatrixDoNotTrap() throws {
    for value in [Int32.min, .min + 1, -1, 1, .max] {
      let media = try read(SmallMovie(matrix: [Int32](repeating: value, count: 9)))
      #expect(media.video?.storedWidth == 64, "\(value)")
    }
  }

  @Test func aScaleWithinTheMatrixStretchesThePixels() throws {
    let matrix: [Int32] = [2 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30]
    let video = try read(SmallMovie(matrix: matrix)).video
    #expect(video?.width == 128)
    #expect(video?.height == 48)
    #expect(video?.sampleAspectRatio?.description == "2:1")
  }

  @Test(arguments: [(4, 3, 85), (1, 2, 32), (1, 1, 64)] as [(UInt32, UInt32, Int)])
  func thePixelsShapeStretchesTheWidth(across: UInt32, down: UInt32, width: Int) throws {
    let video = try read(SmallMovie(pixelShape: (across, down))).video
    #expect(video?.width == width)
    #expect(video?.height == 48)
  }

  // MARK: Durations

  @Test func allOnesInTheHeaderAreNoDuration() throws {
    let media = try read(SmallMovie(movieDuration: .max))
    #expect(media.duration == 2)
    #expect(media.durationSource == .stream)
  }

  @Test(arguments: [UInt32.max - 1, 4_000_000_000, 100_000]) func aHeaderThatIsFarFromItsSamplesIsNotBelieved(
    claimed: UInt32
  ) throws {
    let media = try read(SmallMovie(movieDuration: claimed))
    #expect(media.duration == 2)
    #expect(media.durationSource == .stream)
    // The track header makes the same claim: either the samples or their clock may be wrong.
    #expect(media.warnings.map(\.code) == [.durationMismatch, .frameRateMismatch])
  }

  /// For all samples, the media header claims the duration that the edit list shows.
  @Test func aHeaderOfAllSamplesIsHeldToAllOfThem() throws {
    var bytes = SmallMovie(movieDuration: 1000, edits: [(1000, 0)]).bytes
    let scale = try #require(bytes.position(of: "mdhd")) + 16
    bytes.replaceSubrange(scale + 4..<scale + 8, with: bytes[scale..<scale + 4])
    let media = try read(bytes)
    #expect(media.video?.frameRate?.description == "25/1")
    let rate = try #require(media.warnings.first { $0.code == .frameRateMismatch })
    #expect(rate.stated == .number(50) && rate.measured == .number(25))
  }

  @Test func aHeaderOfZeroLeavesItToTheStreams() throws {
    let media = try read(SmallMovie(movieDuration: 0))
    #expect(media.duration == 2)
    #expect(media.durationSource == .stream)
  }

  @Test func twoHoursAreTwoHours() throws {
    let bytes = SmallMovie(movieDuration: 7_200_000, samples: 180_000, sampleSize: 1).bytes
    let media = try read(bytes)
    #expect(media.duration == 7200)
    #expect(media.truncated == false && media.presentDuration == nil)
    #expect(media.video?.frameRate?.description == "25/1")
    #expect(try read(Array(bytes.dropLast(45_000))).presentDuration == 5400)
  }

  @Test func aFileOfSecondsHasAPlausibleBitRate() throws {
    let movie = SmallMovie()
    #expect(try read(movie).bitRate == Int64(movie.bytes.count) * 4)
  }

  @Test func anEditListThatHidesEverySampleIsSaid() throws {
    let media = try read(SmallMovie(edits: [(0, -1)]))
    #expect(media.video?.hasSamples == true)
    #expect(media.truncated == nil)
    #expect(media.warnings.map(\.message).contains("its edit list hides every sample of its video"))
  }

  @Test func anEditListShortensWhatIsShown() throws {
    let media = try read(SmallMovie(movieDuration: 1000, edits: [(1000, 400)]))
    #expect(media.duration == 1)
    #expect(media.truncated == false)
  }

  @Test("empty edits count at any position")
  func emptyEdits() throws {
    for edits: [(UInt32, Int32)] in [
      [(500, -1), (2000, 0)], [(1000, 0), (500, -1), (1000, 1000)], [(2000, 0), (500, -1)],
    ] {
      let media = try read(SmallMovie(movieDuration: 2500, edits: edits))
      #expect(media.duration == 2.5 && media.video?.frameRate?.description == "25/1", "\(edits)")
      #expect(media.warnings.isEmpty, "\(edits): \(media.warnings)")
    }
  }

  @Test("a first track without samples is not the video")
  func emptyTrack() throws {
    func movie(dataAt offset: Int) -> [UInt8] {
      SmallMovie(samples: 0, extra: SmallMovie(width: 160, height: 90).track(2, dataAt: offset)).bytes
    }
    let data = SmallMovie.box("mdat", [UInt8](repeating: 0xAB, count: 800))
    let media = try read(movie(dataAt: movie(dataAt: 0).count + 8) + data)
    #expect(media.video?.storedWidth == 160 && media.video?.hasSamples == true)
    #expect(media.video?.frameRate?.description == "25/1" && media.warnings.isEmpty, "\(media.warnings)")
  }

  // MARK: Truncated, unfinished, false

  /// 16 bytes for each 40 ms; a sample with a missing byte does not count.
  @Test(arguments: [(1, "2.0"), (100, "1.7"), (799, "0.0")]) func missingMediaDataIsTruncation(
    missing: Int, left: String
  ) throws {
    let media = try read(Array(SmallMovie().bytes.dropLast(missing)))
    #expect(media.truncated == true)
    #expect(media.duration == 2)
    #expect(media.bitRate == nil)
    #expect(media.warnings.map(\.message) == ["it was cut off: \(left) of its 2.0 seconds are there"])
  }

  /// Another camera at the end, or an advertisement in the middle.
  @Test(arguments: [[1, 2], [2, 1], [1, 2, 1], [2, 1, 2], [1, 1]])
  func sampleEntriesThatChange(chunks: [Int]) throws {
    let movie = SmallMovie(samples: 48, entries: ([64, 96], chunks))
    let track = try #require(ISOFileMap(BytesInMemory(all: movie.bytes)).tracks.first)
    #expect(track.entry?.width == [64, 96][chunks[0] - 1])
    #expect(track.laterEntries.map(\.width) == (Set(chunks).count == 1 ? [] : [[96, 64][chunks[0] - 1]]))
    let media = try read(movie)
    #expect(
      media.warnings.map(\.code).filter { $0 == .contentChanges }.count == Set(chunks).count - 1,
      "\(media.warnings)")
  }

  private static let colours = SmallMovie.box("colr", Array("nclx".utf8) + [0, 9, 0, 16, 0, 9, 0])
  private static let vision = SmallMovie.box(
    "dvcC", [1, 0, 0x10, 0x35, 0x10] + [UInt8](repeating: 0, count: 19))
  private static func shape(_ across: UInt32) -> [UInt8] {
    SmallMovie.box("pasp", SmallMovie.u32(across) + SmallMovie.u32(3))
  }

  /// FFmpeg reports the values of the last entry.
  @Test(
    arguments: [
      (shape(3), shape(4), [1, 2], nil, "video.sampleAspectRatio"), (shape(3), shape(3), [1, 2], nil, nil),
      ([], colours, [1, 2], nil, "video.hdr"), ([], colours, [2, 1], .pq, nil),
      ([], colours, [1, 1], nil, nil),
      (colours, colours, [1, 2], .pq, nil), ([], vision, [1, 2], nil, nil),
    ] as [([UInt8], [UInt8], [Int], HDR.Kind?, String?)])
  func whatTheFirstSamplesHaveCounts(
    first: [UInt8], last: [UInt8], chunks: [Int], range: HDR.Kind?, change: String?
  ) throws {
    let movie = SmallMovie(
      samples: 48, entries: ([64, 64], chunks), entryExtra: first, lastEntryExtra: last)
    let file = try #require(OpenFile(holding: movie.bytes))
    for ways in [FFmpegReader.quickWays, [.full], [.thorough]] {
      let media = try file.read(as: .mp4, by: ways).media
      #expect(media.video?.hdr?.kind == range && media.video?.width == 64, "\(ways)")
      let changes = media.warnings.filter { $0.code == .contentChanges }
      #expect(changes.map(\.fact) == (change == nil ? [] : [change]), "\(ways) \(media.warnings)")
    }
  }

  /// Recorders of network packets make a sample of each packet.
  @Test(arguments: [[0, 0, 0, 40], [40, 0, 0], [0, 40]] as [[UInt32]])
  func aPictureInSeveralSamples(steps: [UInt32]) throws {
    let media = try read(SmallMovie(samples: 50 * steps.count, steps: steps))
    #expect(media.video?.frameRate?.description == "25/1" && media.video?.variableFrameRate == false)
    #expect(media.duration == 2 && media.warnings.isEmpty, "\(media.warnings)")
  }

  /// Two pictures decoded together are displayed one after the other, and the last one of a file may have no duration.
  @Test func picturesThatTakeNoTime() throws {
    let pairs = try #require(
      SampleTimes((0..<50).flatMap { _ in [SampleTimes.Run(count: 1, step: 0), .init(count: 1, step: 80)] }))
    #expect(pairs.ofPictures(offsets: (0..<32).map { $0 % 2 == 0 ? 40 : 0 }) == pairs)
    #expect(pairs.ofPictures(offsets: []).samples == 50)
    let last = try #require(SampleTimes([.init(count: 49, step: 40), .init(count: 1, step: 0)]))
    #expect(last.ofPictures(offsets: []) == last)
    let still = try #require(SampleTimes([.init(count: 1 << 40, step: 0)]))
    #expect(still.ofPictures(offsets: [1]) == still)
  }

  @Test func bytesBehindTheEndAreNoTruncation() throws {
    #expect(try read(SmallMovie().bytes + [0, 0, 0, 0, 0, 0]).truncated == false)
  }

  @Test func withoutIndexItIsUnfinished() {
    let bytes = SmallMovie(fastStart: false).bytes
    #expect(failure(Array(bytes.prefix(500)))?.code == .indexMissing)
    #expect(failure(Array(bytes.prefix(24)))?.code == .indexMissing)
  }

  @Test func anIndexThatIsCutIsTruncated() {
    let bytes = SmallMovie().bytes
    for length in stride(from: 40, to: 500, by: 23) {
      #expect(failure(Array(bytes.prefix(length)))?.code == .indexMissing, "\(length)")
    }
  }

  /// "Truncated" would mislead the user.
  @Test func whatWasTakenForTextIsNamed() throws {
    var generator = SplitMix64(seed: 3)
    var movie = SmallMovie(sampleSize: 800, fastStart: false).bytes
    let data = movie.firstRange(of: Array("mdat".utf8))?.upperBound ?? 0
    for place in data..<(data + 40_000) { movie[place] = UInt8.random(in: 0...255, using: &generator) }
    let changed = [
      Array(String(decoding: movie, as: UTF8.self).utf8),
      movie.flatMap { Array(String(Character(Unicode.Scalar($0))).utf8) },
      movie.flatMap { $0 == 10 ? [13, 10] : [$0] },
    ]
    for bytes in changed {
      #expect(
        failure(bytes)?.message.contains("took it for text") == true, "\(failure(bytes)?.message ?? "")")
    }
    #expect(try read(movie).duration == 2)
    #expect(failure(Array(movie.prefix(30_000)))?.code == .indexMissing)
  }

  @Test func noBytesAreEmpty() {
    #expect(failure([])?.code == .empty)
  }

  @Test func garbageBehindTheBrandIsAnErrorAndNoTrap() {
    var generator = SplitMix64(seed: 7)
    for _ in 0..<50 {
      let noise = (0..<2000).map { _ in UInt8.random(in: 0...255, using: &generator) }
      let code = failure(Array(SmallMovie().bytes.prefix(20)) + noise)?.code
      #expect(code == .indexMissing || code == .corrupt)
    }
  }

  @Test func flippedBitsNeverTrap() throws {
    var generator = SplitMix64(seed: 11)
    let whole = SmallMovie(edits: [(2000, 0)], declaresFragments: true).bytes
    for _ in 0..<500 {
      var bytes = whole
      for _ in 0..<Int.random(in: 1...8, using: &generator) {
        bytes[Int.random(in: 0..<900, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
      }
      let file = try #require(OpenFile(holding: bytes))
      guard let media = try? file.read(as: .mp4).media else { continue }
      #expect(media.duration.map { $0 > 0 && $0 < 31_536_000 } ?? true)
      #expect(media.video?.width.map { $0 > 0 } ?? true)
    }
  }

  @Test func aPromiseOfFragmentsIsNoFragment() throws {
    let media = try read(SmallMovie(declaresFragments: true))
    #expect(media.fragmented == false)
    #expect(media.duration == 2)
    #expect(media.video?.hasSamples == true)
  }

  @Test func noSamplesAreSaid() throws {
    let media = try read(SmallMovie(samples: 0))
    #expect(media.video?.hasSamples == false)
    #expect(media.truncated == false)
  }

  @Test(arguments: [1 << 24, 1 << 26, (1 << 31) - 1] as [UInt32]) func anIndexOfAKilobyteTakesNoGigabyte(
    claimed: UInt32
  ) {
    let error = failure(SmallMovie(sampleSize: 1, claimedSamples: claimed).bytes)
    #expect(error?.code == .memoryLimit)
    #expect(error?.message.contains("\(claimed) samples") == true)
  }

  @Test func moreStreamsThanAnyVideoHasAreRefused() {
    let error = failure(SmallMovie(tracks: 40).bytes, limits: ReadingLimits(seconds: 600, streams: 30))
    #expect(error?.code == .unsupported)
    #expect(error?.message.contains("30 streams") == true)
  }

  @Test func severalVideoStreamsAreCounted() throws {
    #expect(try read(SmallMovie(tracks: 3)).video?.streams == 3)
  }

  @Test(arguments: ["encv", "drmi"]) func protectedSamplesAreSaid(format: String) throws {
    #expect(try read(SmallMovie(format: format)).encrypted == true)
  }

  // MARK: Dolby Vision and positions

  /// Dolby Vision Streams within the ISO Base Media File Format, 3.2: versions, then seven bits of profile.
  @Test(arguments: ["dvcC", "dvvC"], [5, 8]) func dolbyVisionIsSeenByItsRecord(box: String, profile: Int)
    throws
  {
    let record =
      [1, 0] + SmallMovie.u16(profile << 9 | 6 << 3 | 0b101) + [0x10] + [UInt8](repeating: 0, count: 19)
    let media = try read(SmallMovie(entryExtra: SmallMovie.box(box, record)))
    #expect(media.video?.hdr == HDR(kind: .dolbyVision, profile: profile))
  }

  @Test(arguments: ["dvh1", "dvhe"]) func dolbyVisionIsSeenByItsFormat(format: String) throws {
    #expect(try read(SmallMovie(format: format)).video?.hdr?.kind == .dolbyVision)
  }

  /// Apple's timed metadata, whose keys are in the sample entry.
  @Test(arguments: [
    ("mebx", "com.apple.quicktime.location.ISO6709", true), ("mebx", "com.apple.quicktime.face-id", false),
    ("gpmd", "", true), ("camm", "", true), ("jpeg", "com.apple.quicktime.location.ISO6709", false),
  ]) func aTrackOfPositionsIsAPlace(format: String, key: String, isPlace: Bool) throws {
    let keys = SmallMovie.box(
      "keys", SmallMovie.box("XXXX", SmallMovie.box("keyd", Array("mdta\(key)".utf8))))
    #expect(try read(SmallMovie(format: format, entryExtra: keys)).hasLocation == isPlace)
  }

  // MARK: Limits

  @Test func timeThatIsUpIsATimeout() {
    #expect(failure(SmallMovie().bytes, limits: ReadingLimits(seconds: 0))?.code == .timeout)
  }

  @Test func aBudgetThatIsTooSmallForTheHeaderIsSaid() {
    let error = failure(SmallMovie().bytes, limits: ReadingLimits(bytes: 100, seconds: 600))
    #expect(error?.code == .corrupt)
    #expect(error?.message.contains("100 bytes") == true)
  }

  @Test func aFileThatShrinksIsSaid() throws {
    let file = try #require(OpenFile(holding: Array(SmallMovie().bytes.prefix(200))))
    #expect(throws: ProbeError.self) {
      _ = try FFmpegReader().read(.descriptor(file.descriptor), size: 5000, container: .mp4)
    }
  }

  @Test func aDescriptorThatCannotBeReadIsSaid() {
    let error = #expect(throws: ProbeError.self) {
      _ = try FFmpegReader().read(.descriptor(-1), size: 5000, container: .mp4)
    }
    #expect(error?.code == .unreadable)
  }

  // MARK: Tags

  @Test func aPlaceIsSaidAndNotKept() throws {
    let place = Array("+48.1234+011.5678/".utf8)
    let atom = SmallMovie.box("XXXX", SmallMovie.u16(place.count) + SmallMovie.u16(0x15C7) + place)
    let named = Array(atom.prefix(4)) + [0xA9, 0x78, 0x79, 0x7A] + Array(atom.dropFirst(8))
    let media = try read(SmallMovie(extra: SmallMovie.box("udta", named)))
    #expect(media.hasLocation == true)
    #expect("\(media)".contains("48.1234") == false)
  }

  @Test func applesTagsAreRead() throws {
    let media = try read(
      SmallMovie(
        extra: SmallMovie.appleTags([
          "com.apple.quicktime.content.identifier": "E5F7A4D0-1111-2222-3333-444455556666",
          "com.apple.quicktime.creationdate": "2024-05-01T12:11:12+0200",
          "com.apple.quicktime.title": " A title ",
          "com.apple.quicktime.author": "Somebody",
          "com.apple.quicktime.location.ISO6709": "+48.1234+011.5678/",
        ])))
    #expect(media.contentIdentifier == "E5F7A4D0-1111-2222-3333-444455556666")
    #expect(media.createdAt == Date(timeIntervalSince1970: 1_714_558_272))
    #expect(media.title == "A title")
    #expect(media.artist == "Somebody")
    #expect(media.hasLocation == true)
  }
}

extension SmallMovie {
  /// QuickTime's `meta` box with its `keys` and `ilst`.
  static func appleTags(_ tags: KeyValuePairs<String, String>) -> [UInt8] {
    let handler = box("hdlr", u32(0) + u32(0) + Array("mdta".utf8) + [UInt8](repeating: 0, count: 13))
    let keys = tags.flatMap { box("mdta", Array($0.key.utf8)) }
    let items = tags.enumerated().flatMap { number, tag -> [UInt8] in
      let item = box("XXXX", box("data", u32(1) + u32(0) + Array(tag.value.utf8)))
      return Array(item.prefix(4)) + u32(UInt32(number + 1)) + Array(item.dropFirst(8))
    }
    return box("meta", handler + box("keys", u32(0) + u32(UInt32(tags.count)) + keys) + box("ilst", items))
  }
}
