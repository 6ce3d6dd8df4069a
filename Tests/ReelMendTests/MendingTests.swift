import Foundation
import ReelCore
import ReelProbe
import ReelTestSupport
import Testing

@testable import ReelMend

/// One of the project's samples in MP4 or a related format.
struct MendSample: CustomTestStringConvertible {
  let path: String
  let container: MediaContainer

  var testDescription: String { URL(fileURLWithPath: path).lastPathComponent }

  private static let folder = Checkout.root.appendingPathComponent("Samples")

  static func named(_ name: String) -> MendSample {
    let path = folder.appendingPathComponent(name)
    return MendSample(path: path.path, container: MediaContainer(rawValue: path.pathExtension) ?? .mp4)
  }

  static let all: [MendSample] = {
    let clips = folder.appendingPathComponent("clips").path
    let names = (try? FileManager.default.contentsOfDirectory(atPath: clips)) ?? []
    return names.sorted().filter { ["mp4", "mov", "m4v"].contains(($0 as NSString).pathExtension) }
      .map { named("clips/\($0)") }
  }()
}

@Suite(.shortTime) struct MendingTests {
  /// A location that was found, but that no mend can remove, is an error.
  @Test func aPlaceThatIsLeftIsNothingToMend() throws {
    var media = MediaInfo(container: .mp4, size: 1)
    for isLocation in [nil, false, true] {
      media.hasLocation = isLocation
      for mend in Mend.allCases {
        let isRefused = isLocation == true && (mend == .location || mend == .privateTags)
        if isRefused {
          let error = #expect(throws: MendError.self) {
            try MendValidation.check(undone: MendOptions([mend]), media)
          }
          #expect(error?.code == .notMendable)
        } else {
          try MendValidation.check(undone: MendOptions([mend]), media)
        }
      }
    }
    try MendValidation.check(undone: MendOptions([.location]), nil)
  }

  private static let square = Rational(1, 1).map { SampleAspectRatio($0) }
  private static let wide = Rational(4, 3).map { SampleAspectRatio($0) }
  /// The options to mend with; some of them exclude something from the proof.
  static let options: [MendOptions] = [
    MendOptions([.faststart]), MendOptions([.unfragment]), MendOptions([.unfragment, .faststart]),
    MendOptions([.location]), MendOptions([.privateTags, .faststart]), MendOptions([.data]),
    MendOptions(rotation: 90), MendOptions(rotation: 180), MendOptions([.faststart], rotation: 270),
    MendOptions(rotation: 0), MendOptions(sampleAspectRatio: wide),
    MendOptions([.faststart, .privateTags], rotation: 90, sampleAspectRatio: wide),
  ]

  @Test(arguments: MendSample.all)
  func everySampleHoldsTheSameMended(_ sample: MendSample) throws {
    let before = try facts(of: sample.path, as: sample.container)
    for options in Self.options {
      let copy = try MendedCopy(of: sample.path, as: sample.container, options)
      guard !copy.done.isEmpty else {
        #expect(fileSize(copy.path) == 0)
        continue
      }
      let mediaTimeOnly = copy.done.contains(.unfragment)
      let exclusion: StreamDigest.Options.Exclusion = options.mends.contains(.data) ? .data : .nothing
      let shapeCounts = options.rotation == nil && options.sampleAspectRatio == nil
      let (old, new) = (
        try digests(
          of: sample.path, as: sample.container, without: exclusion, mediaTimeOnly: mediaTimeOnly,
          shapeCounts: shapeCounts),
        try digests(
          of: copy.path, as: sample.container, without: exclusion, mediaTimeOnly: mediaTimeOnly,
          shapeCounts: shapeCounts)
      )
      // FFmpeg counts time differently in fragments and in a single index.
      let isSame = mediaTimeOnly ? old.elementsEqual(new) { $0.holdsTheSame(as: $1) } : old == new
      #expect(isSame && !new.isEmpty, "\(options)")
      #expect(Self.shift(old, new) < 1_000_000, "\(options)")
      let after = try facts(of: copy.path, as: sample.container)
      #expect(after.title == before.title || options.mends.contains(.privateTags))
      #expect(after.createdAt == before.createdAt)
      #expect(after.audio == before.audio)
      if options.mends.contains(.faststart), after.fragmented != true { #expect(after.fastStart == true) }
      if options.mends.contains(.unfragment) { #expect(after.fragmented == false) }
      if !options.mends.isDisjoint(with: [.location, .privateTags]) { #expect(after.hasLocation != true) }
      if let rotation = options.rotation, copy.done.contains(.rotation) {
        #expect(after.video?.rotation == rotation)
      }
      if let ratio = options.sampleAspectRatio, copy.done.contains(.sampleAspectRatio) {
        #expect(after.video?.sampleAspectRatio == ratio)
      }
      // A mended file needs no further mending.
      #expect(try MendedCopy(of: copy.path, as: sample.container, options).done.subtracting([.data]).isEmpty)
      try Self.expectNoNewMessages(sample.path, copy.path)
    }
  }

  /// The largest shift of the streams against each other, in nanoseconds.
  static func shift(_ before: [StreamDigest], _ after: [StreamDigest]) -> Int64 {
    let moved = zip(before, after).compactMap { old, new in
      old.start.flatMap { start in new.start.map { $0 - start } }
    }
    return (moved.max() ?? 0) - (moved.min() ?? 0)
  }

  /// FFmpeg's messages while it decodes the file.
  private static func messages(_ path: String) throws -> [String.SubSequence] {
    let program = try #require(FFmpegProgram.path)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = ["-v", "repeat+warning", "-nostdin", "-i", path, "-f", "null", "-"]
    let pipe = Pipe()
    process.standardError = pipe
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    let bytes = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
      // Remove addresses and positions in the file.
      .map { $0.drop { $0 != "]" }.replacing(/0x[0-9a-f]+/, with: "") }
      // The scaler's messages concern the display, not the file.
      .filter { !$0.contains("swscaler") }
  }

  /// - Parameter reveals: Whether the mended file has edit lists that FFmpeg ignores in the source, as in fragments.
  static func expectNoNewMessages(_ source: String, _ mended: String, revealsEdits reveals: Bool = false)
    throws
  {
    let said = Set(try messages(mended).filter { !reveals || !$0.contains("edit list") })
    guard !said.isEmpty else { return }
    let new = said.subtracting(try messages(source))
    #expect(new.isEmpty, "\(source)")
  }

  @Test func nothingIsWrittenWhereNothingNeedsMending() throws {
    let sample = MendSample.named("clips/faststart.mp4")
    let copy = try MendedCopy(of: sample.path, as: .mp4, MendOptions([.faststart, .unfragment, .salvage]))
    #expect(copy.done.isEmpty && fileSize(copy.path) == 0)
  }

  /// The metadata is removed, and what follows it does not move.
  @Test func locationLeavesNoTrace() throws {
    let sample = MendSample.named("clips/phone-located.mov")
    #expect(try facts(of: sample.path, as: .mov).hasLocation == true)
    let copy = try MendedCopy(of: sample.path, as: .mov, MendOptions([.location]))
    #expect(copy.done == [.location])
    let after = try facts(of: copy.path, as: .mov)
    #expect(after.hasLocation == false)
    let text = String(decoding: contents(of: copy.path), as: UTF8.self)
    #expect(!text.contains("ISO6709") && !text.contains("+37"))
  }

  /// Where cameras keep their own data: unknown boxes, unused space, XML (Sony), and boxes too large to be examined.
  @Test(arguments: [
    ("GPS ", 40, false), ("free", 40, false), ("skip", 70_000, false), ("abcd", 8, false),
    ("uuid", (1 << 20) + 100, false), ("meta", (1 << 20) + 100, false), ("free", 0, true),
    ("emsg", 40, false),
  ])
  func whatIsBehindTheMediaDataLeavesNoTrace(_ type: String, _ size: Int, _ isHarmless: Bool) throws {
    let sample = MendSample.named("clips/faststart.mp4")
    let content = Array("Model=X GPSLatitude=37.33".utf8).prefix(size)
    let box = Self.box(type, content + [UInt8](repeating: 7, count: max(0, size - content.count)))
    let folder = try TemporaryFolder()
    try folder.write(contents(of: sample.path) + box, to: "own.mp4")
    for mend in [Mend.location, .privateTags] {
      let copy = try MendedCopy(of: folder.path(of: "own.mp4"), as: .mp4, MendOptions([mend]))
      if isHarmless, mend == .location {
        #expect(copy.done.isEmpty, "\(mend)")
      } else if !isHarmless {
        #expect(copy.done == [mend], "\(mend)")
        let written = contents(of: copy.path)
        #expect(
          !String(decoding: written, as: UTF8.self).contains("GPSLat") && !written.suffix(40).contains(7))
        #expect(fileSize(copy.path) == fileSize(folder.path(of: "own.mp4")))
        #expect(try digests(of: copy.path, as: .mp4) == digests(of: sample.path, as: .mp4))
      }
    }
  }

  /// Dashcams write data between samples that belongs to no track.
  @Test func mediaDataThatNobodyReadsLeavesNoTrace() throws {
    let sample = MendSample.named("clips/moov-at-end.mp4")
    var bytes = contents(of: sample.path)
    let place = try #require(Data(bytes).range(of: Data("mdat".utf8))).lowerBound - 4
    let size = Int(bytes.bigEndian32(at: place))
    let hidden = Array("freeGPS N37.3318 W122.0312".utf8)
    bytes.setBigEndian(UInt32(size + hidden.count), at: place)
    bytes.insert(contentsOf: hidden, at: place + size)
    let folder = try TemporaryFolder()
    try folder.write(bytes, to: "dashcam.mp4")
    for mend in [Mend.location, .privateTags] {
      let copy = try MendedCopy(of: folder.path(of: "dashcam.mp4"), as: .mp4, MendOptions([mend]))
      #expect(copy.done == [mend])
      #expect(!String(decoding: contents(of: copy.path), as: UTF8.self).contains("GPS N37"))
      #expect(try digests(of: copy.path, as: .mp4) == digests(of: sample.path, as: .mp4))
    }
  }

  /// Phones record with an index that announces fragments, even if none follow.
  @Test func anIndexThatPromisesFragmentsIsPutFirst() throws {
    let sample = MendSample.named("clips/moov-at-end.mp4")
    var bytes = contents(of: sample.path)
    let place = try #require(Data(bytes).range(of: Data("moov".utf8))).lowerBound - 4
    let promise = Self.box("mvex", Self.box("trex", [UInt8](repeating: 0, count: 24)))
    let size = Int(bytes.bigEndian32(at: place))
    bytes.setBigEndian(UInt32(size + promise.count), at: place)
    bytes.insert(contentsOf: promise, at: place + size)
    let folder = try TemporaryFolder()
    try folder.write(bytes, to: "phone.mp4")
    let path = folder.path(of: "phone.mp4")
    #expect(try facts(of: path, as: .mp4).fragmented == false)
    let copy = try MendedCopy(of: path, as: .mp4, MendOptions([.faststart]))
    #expect(copy.done == [.faststart])
    #expect(try facts(of: copy.path, as: .mp4).fastStart == true)
    #expect(try digests(of: copy.path, as: .mp4) == digests(of: path, as: .mp4))
  }

  /// Items are referenced by their offsets: they do not move, or nothing is written.
  @Test func itemsDoNotMove() throws {
    let sample = MendSample.named("clips/moov-at-end.mp4")
    let list: [UInt8] = [0, 0, 0, 0, 0x44, 0x00, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 60, 0, 0, 0, 9]
    let folder = try TemporaryFolder()
    try folder.write(
      contents(of: sample.path) + Self.box("meta", [0, 0, 0, 0] + Self.box("iloc", list)), to: "items.mp4")
    let path = folder.path(of: "items.mp4")
    let error = #expect(throws: MendError.self) {
      try MendedCopy(of: path, as: .mp4, MendOptions([.faststart]))
    }
    #expect(error?.code == .notMendable && error?.message.contains("iloc") == true)
    #expect(try MendedCopy(of: path, as: .mp4, MendOptions(rotation: 90)).done == [.rotation])
  }

  /// The segment index moves with its fragments, or nothing is written.
  @Test func theIndexOfSegmentsStaysRight() throws {
    let bytes = contents(of: MendSample.named("clips/fragmented.mp4").path)
    let boxes = MovieBox.children(of: bytes[...]).0
    let first = try #require(boxes.firstIndex { $0.type == "moof" })
    let before = boxes[..<first].reduce(0) { $0 + $1.size }
    let fragment = boxes[first].size + boxes[first + 1].size
    var index: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 3, 0xE8, 0, 0, 0, 0]
    for number in [0, 1, UInt32(fragment), 1000, 1 << 31] as [UInt32] { index.appendBigEndian(number) }
    let ftyp = boxes[0].size
    // The position of the index, the offset of the fragments after it, and whether the offset is still right after the
    // movie's index has grown.
    for (place, offset, isRight) in [(before, 0, true), (ftyp, before - ftyp, false)] {
      index.setBigEndian(UInt32(offset), at: 16)
      let box = Self.box("sidx", index)
      let folder = try TemporaryFolder()
      try folder.write(bytes[..<place] + box + bytes[place...], to: "a.mp4")
      let path = folder.path(of: "a.mp4")
      let descriptor = open(path, O_RDONLY | O_CLOEXEC)
      defer { close(descriptor) }
      let source = BoundedSource(.descriptor(descriptor), size: fileSize(path), limits: MendedCopy.limits)
      let places = NamedPlaces(file: try MovieFile(source), source: source)
      let end = Int64(before + (isRight ? 0 : box.count))
      let grown = MendedFile(parts: [.source(0..<end), .bytes([0, 0, 0]), .source(end..<source.size)])
      let refusal = Result { () throws(MendError) in try places.check(grown) }
      switch refusal {
      case .success: #expect(isRight)
      case .failure(let error):
        #expect(!isRight && error.message.contains("sidx") && error.remedy == .unfragment)
      }
    }
  }

  /// However the fragments address their samples; the mended file has no fragments.
  @Test(
    .needsFFmpeg,
    arguments: [
      "frag_keyframe", "frag_keyframe+empty_moov", "frag_keyframe+empty_moov+delay_moov",
      "frag_keyframe+empty_moov+default_base_moof", "frag_keyframe+empty_moov+omit_tfhd_offset", "cmaf",
      "dash",
    ])
  func everyKindOfFragmentsIsPutIntoOnePiece(_ flags: String) throws {
    let picture = ["-f", "lavfi", "-i", "testsrc=size=64x48:rate=25:duration=2", "-g", "10", "-c:v", "mpeg4"]
    let sound = ["-f", "lavfi", "-i", "sine=duration=2", "-c:a", "aac"]
    try FFmpegProgram.make(
      "a.mp4", picture[..<4] + sound[..<4] + picture[4...] + sound[4...] + ["-movflags", flags]
    ) {
      let before = try facts(of: $0, as: .mp4)
      #expect(before.fragmented == true)
      let copy = try MendedCopy(of: $0, as: .mp4, MendOptions([.unfragment]))
      #expect(copy.done == [.unfragment])
      let (old, new) = (
        try digests(of: $0, as: .mp4, mediaTimeOnly: true),
        try digests(of: copy.path, as: .mp4, mediaTimeOnly: true)
      )
      #expect(old.elementsEqual(new) { $0.holdsTheSame(as: $1) } && new.count == 2)
      #expect(try facts(of: copy.path, as: .mp4).fragmented == false)
    }
  }

  /// A tag after the last fragment stays at the end.
  @Test func whatIsBehindTheLastFragmentStaysBehindAll() throws {
    let sample = MendSample.named("clips/fragmented.mp4")
    let folder = try TemporaryFolder()
    let tag = Array("TAGSome title".utf8) + [UInt8](repeating: 0, count: 115)
    try folder.write(contents(of: sample.path) + tag, to: "a.mp4")
    let copy = try MendedCopy(of: folder.path(of: "a.mp4"), as: .mp4, MendOptions([.unfragment]))
    #expect(copy.done == [.unfragment] && contents(of: copy.path).suffix(128) == tag[...])
    #expect(try facts(of: copy.path, as: .mp4).truncated == false)
  }

  @Test func whatIsSaidInXMLGoesAsAWhole() throws {
    let sample = MendSample.named("clips/faststart.mp4")
    let xml = Self.box("xml ", [0, 0, 0, 0] + Array("<Device serialNo=\"123\"/>".utf8))
    let folder = try TemporaryFolder()
    try folder.write(contents(of: sample.path) + Self.box("meta", [0, 0, 0, 0] + xml), to: "sony.mp4")
    let copy = try MendedCopy(of: folder.path(of: "sony.mp4"), as: .mp4, MendOptions([.location]))
    #expect(copy.done == [.location])
    #expect(!String(decoding: contents(of: copy.path), as: UTF8.self).contains("serialNo"))
  }

  private static func box(_ type: String, _ content: some Collection<UInt8>) -> [UInt8] {
    withUnsafeBytes(of: UInt32(content.count + 8).bigEndian) { Array($0) } + Array(type.utf8) + content
  }

  // MARK: Files that were cut off

  /// Wherever a file was cut off after its index, exactly what is there is played.
  @Test func aCutFileIsSalvagedUpToItsLastWholePicture() throws {
    let sample = MendSample.named("clips/faststart.mp4")
    let whole = contents(of: sample.path)
    let all = try digests(of: sample.path, as: .mp4)
    let folder = try TemporaryFolder()
    var kept: [Int64] = []
    for share in [30, 50, 70, 90, 99] {
      try folder.write(whole.prefix(whole.count * share / 100), to: "cut.mp4")
      let cut = folder.path(of: "cut.mp4")
      guard let copy = try? MendedCopy(of: cut, as: .mp4, MendOptions([.salvage])) else { continue }
      #expect(copy.done == [.salvage])
      let new = try digests(of: copy.path, as: .mp4, mediaTimeOnly: true)
      let most = new.map(\.packets)
      #expect(try digests(of: cut, as: .mp4, most: most, mediaTimeOnly: true) == new)
      #expect(try digests(of: sample.path, as: .mp4, most: most, mediaTimeOnly: true) == new)
      #expect(zip(most, all).allSatisfy { $0 <= $1.packets })
      let after = try facts(of: copy.path, as: .mp4)
      #expect(after.truncated == false && after.warnings.isEmpty, "\(after.warnings)")
      kept.append(most[0])
    }
    #expect(kept.count >= 3 && kept == kept.sorted())
  }

  @Test func aCutFileOfFragmentsIsSalvagedAsOne() throws {
    let sample = MendSample.named("clips/fragmented.mp4")
    let whole = contents(of: sample.path)
    let folder = try TemporaryFolder()
    try folder.write(whole.prefix(whole.count * 3 / 4), to: "cut.mp4")
    let cut = folder.path(of: "cut.mp4")
    #expect(throws: MendError.self) { try MendedCopy(of: cut, as: .mp4, MendOptions([.unfragment])) }
    let copy = try MendedCopy(of: cut, as: .mp4, MendOptions([.salvage]))
    #expect(copy.done == [.salvage, .unfragment])
    let new = try digests(of: copy.path, as: .mp4, mediaTimeOnly: true)
    #expect(try digests(of: cut, as: .mp4, most: new.map(\.packets), mediaTimeOnly: true) == new)
  }

  // MARK: The proof

  /// Any unintended change by a muxer is detected.
  @Test func oneChangedByteIsFound() throws {
    let sample = MendSample.named("clips/moov-at-end.mp4")
    let old = try digests(of: sample.path, as: .mp4)
    let copy = try MendedCopy(of: sample.path, as: .mp4, MendOptions([.faststart]))
    #expect(try digests(of: copy.path, as: .mp4) == old)
    let bytes = Data(contents(of: copy.path))
    func place(_ type: String, _ offset: Int) throws -> Int64 {
      Int64(try #require(bytes.range(of: Data(type.utf8))).lowerBound + offset)
    }
    // In the media data; the sample times; the list of key frames; the offset of the first chunk; the time scale; and
    // the decoder's configuration.
    for offset in [
      Int64(bytes.count - 40), try place("stts", 19), try place("stss", 11), try place("stco", 15),
      try place("mdhd", 19), try place("avcC", 7),
    ] {
      copy.corrupt(at: offset)
      #expect((try? digests(of: copy.path, as: .mp4)) != old, "byte \(offset)")
      copy.corrupt(at: offset)
    }
    #expect(try digests(of: copy.path, as: .mp4) == old)
  }

  /// A failing disk is not blamed on the file.
  @Test func aDiskThatFailsIsNotTheFilesFault() throws {
    let folder = try TemporaryFolder()
    try folder.write([0, 0, 0, 8] as [UInt8], to: "short.mp4")
    // A file opened for writing only can't be read, like one on a failing disk. The other one is shorter than stated.
    let cases: [(flags: Int32, code: MendError.Code)] = [(O_WRONLY, .unreadable), (O_RDONLY, .sourceChanged)]
    for (flags, code) in cases {
      let file = open(folder.path(of: "short.mp4"), flags | O_CLOEXEC)
      defer { close(file) }
      let error = #expect(throws: MendError.self) {
        let options = StreamDigest.Options(
          exclusion: .nothing, most: nil, mediaTimeOnly: false, shapeCounts: true, metadataCounts: true,
          seed: 7)
        return try PacketDigests(limits: MendedCopy.limits, options: options)
          .digests(descriptor: file, size: 4096, container: .mp4)
      }
      #expect(error?.code == code)
    }
  }

  /// Audio that would run ahead of the video is detected, and so is a rotated picture.
  @Test func whatIsShownOtherwiseIsFound() throws {
    let sample = MendSample.named("clips/faststart.mp4")
    let old = try digests(of: sample.path, as: .mp4, mediaTimeOnly: true)
    let copy = try MendedCopy(of: sample.path, as: .mp4, MendOptions([.fileExtension]))
    let same = try digests(of: copy.path, as: .mp4, mediaTimeOnly: true)
    #expect(old == same && old.count == 2)
    let edits = try #require(Data(contents(of: copy.path)).range(of: Data("elst".utf8))).lowerBound
    // The media time of the first edit, in a list of version 0.
    copy.corrupt(at: Int64(edits + 18))
    let new = try digests(of: copy.path, as: .mp4, mediaTimeOnly: true)
    #expect(old.elementsEqual(new) { $0.holdsTheSame(as: $1) })
    #expect(Self.shift(old, new) > 1_000_000)

    let turned = try MendedCopy(of: sample.path, as: .mp4, MendOptions(rotation: 90))
    for shapeCounts in [true, false] {
      let (before, after) = (
        try digests(of: sample.path, as: .mp4, shapeCounts: shapeCounts),
        try digests(of: turned.path, as: .mp4, shapeCounts: shapeCounts)
      )
      #expect((before == after) != shapeCounts)
    }
  }

  // MARK: The corpus

  /// Every file of the corpus, if it is installed, mended as rules and users would ask for: it holds the same, and FFmpeg
  /// decodes it without a message that it does not give for the source.
  @Test(.needsFFmpeg, .enabled(if: MendCorpus.files.count > 0, "needs ../shared/corpus or REEL_CORPUS"))
  func everyFileOfTheCorpusHoldsTheSameMended() throws {
    var (mended, refused, unproved) = (0, 0, 0)
    let files = MendCorpus.files.enumerated().filter { TestForm.isLong || $0.offset % 8 == 0 }.map(\.element)
    for path in files {
      for options in Self.asked {
        do {
          let copy = try MendedCopy(of: path, as: .mp4, options)
          guard !copy.done.isEmpty else { continue }
          let mediaTimeOnly = !copy.done.isDisjoint(with: [.unfragment, .salvage])
          let exclusion: StreamDigest.Options.Exclusion =
            options.mends.contains(.data)
            ? .data : options.mends.isDisjoint(with: [.location, .privateTags]) ? .nothing : .timedMetadata
          let shapeCounts = options.rotation == nil && options.sampleAspectRatio == nil
          let metadataCounts = options.mends.isDisjoint(with: [.location, .privateTags])
          let new = try? digests(
            of: copy.path, as: .mp4, without: exclusion, mediaTimeOnly: mediaTimeOnly,
            shapeCounts: shapeCounts, metadataCounts: metadataCounts)
          let old = try? digests(
            of: path, as: .mp4, without: exclusion,
            most: copy.done.contains(.salvage) ? new?.map(\.packets) : nil, mediaTimeOnly: mediaTimeOnly,
            shapeCounts: shapeCounts, metadataCounts: metadataCounts)
          guard let old, let new, old.elementsEqual(new, by: { $0.holdsTheSame(as: $1) }) else {
            unproved += 1
            continue
          }
          mended += 1
          try Self.expectNoNewMessages(path, copy.path, revealsEdits: copy.done.contains(.unfragment))
        } catch let error as MendError {
          refused += 1
          print("\(path): \(error.message)")
        }
      }
    }
    print("corpus: \(mended) mended and decoded, \(refused) refused, \(unproved) not proved")
    // The exceptions have no pictures, state wrong facts, or are damaged.
    #expect(mended > 4 * (refused + unproved), "\(mended) mended, \(refused) refused, \(unproved) not proved")
  }

  private static let asked =
    [MendOptions([.unfragment, .faststart]), MendOptions([.privateTags]), MendOptions(rotation: 90)]
    + (TestForm.isLong
      ? [
        MendOptions([.faststart]), MendOptions([.location]), MendOptions([.data]), MendOptions([.salvage]),
        MendOptions([.faststart], rotation: 0, sampleAspectRatio: wide),
      ] : [])
}

/// The files of the corpus.
enum MendCorpus {
  static let files = named(["mp4", "mov", "m4v"])
  static let matroska = named(["mkv", "webm"])

  private static func named(_ extensions: [String]) -> [String] {
    let beside = Checkout.root.deletingLastPathComponent().appendingPathComponent("shared/corpus")
    let folder = ProcessInfo.processInfo.environment["REEL_CORPUS"] ?? beside.path
    let found = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
    return found.filter { extensions.contains(($0 as NSString).pathExtension.lowercased()) }
      .sorted().map { folder + "/" + $0 }.filter { fileSize($0) > 0 && fileSize($0) < 20 << 20 }
  }
}
