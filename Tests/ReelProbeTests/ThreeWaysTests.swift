import Foundation
import ReelCore
import ReelProbe
import Testing
import ReelTestSupport

/// All ways in which a file can be read must give the same facts, field by field.
struct ThreeWaysTests {
  private static let samples = Checkout.root.appendingPathComponent("Samples")

  @Test(arguments: ["clips", "broken"]) func allWaysAgreeOnEverySample(folder: String) throws {
    var methods: [ProbeMethod: Int] = [:]
    let names = try FileManager.default.contentsOfDirectory(atPath: Self.samples.path + "/" + folder)
    for name in names.sorted() {
      let file = try #require(OpenFile(Self.samples.path + "/" + folder + "/" + name))
      for method in expectAllWaysAgree(on: file, name) { methods[method, default: 0] += 1 }
    }
    #expect(folder == "broken" || methods[.header, default: 0] > 10)
    #expect(folder == "broken" || methods[.packets, default: 0] > 10)
  }

  @Test(.enabled(if: Corpus.beside != nil, "needs ../shared/corpus or REEL_CORPUS"))
  func allWaysAgreeOnEveryFile() throws {
    let corpus = try #require(Corpus.beside)
    var methods: [ProbeMethod: Int] = [:]
    for row in corpus.files {
      let file = try #require(corpus.open(row))
      for method in expectAllWaysAgree(on: file, row.path) { methods[method, default: 0] += 1 }
    }
    #expect(methods[.header, default: 0] > 0)
    #expect(methods[.packets, default: 0] > 0)
  }

  /// Decoders are slow: a file is not read in full if its facts are available without one.
  @Test(.enabled(if: Corpus.beside != nil, "needs ../shared/corpus or REEL_CORPUS"))
  func atMostOneFileInTenIsReadInFull() throws {
    let corpus = try #require(Corpus.beside)
    let methods = try corpus.files.compactMap { row -> ProbeMethod? in
      let file = try #require(corpus.open(row))
      return try? file.sniffed.map { try file.read(as: $0).method }
    }
    #expect(methods.count { $0 == .full } * 10 <= methods.count, "\(methods.count)")
  }

  /// The initialization segment of a stream whose samples are in other files.
  @Test(
    .needsFFmpeg,
    arguments: [
      "libx264", "libx265 -x265-params log-level=none", "libaom-av1 -cpu-used 8", "libvpx-vp9", "mpeg4",
    ])
  func anInitSegmentIsReadByItsHeader(encoder: String) throws {
    let coded =
      ["-pix_fmt", "yuv420p", "-c:v"] + encoder.split(separator: " ").map(String.init)
      + ["-c:a", "aac", "-movflags", "frag_keyframe+empty_moov"]
    var bytes = try FFmpegTool.make("a.mp4", FFmpegTool.picture + FFmpegTool.tone + coded).allBytes
    bytes.removeSubrange((try #require(bytes.position(of: "moof")) - 4)...)
    let file = try #require(OpenFile(holding: bytes))
    #expect(expectAllWaysAgree(on: file, encoder).contains(.header))
    let reading = try file.read(as: .mp4)
    #expect(reading.method == .header)
    #expect(reading.media.video?.storedWidth == 64 && reading.media.video?.hasSamples == false)
  }

  /// AAC that may double its rate implicitly: its first frame decides.
  @Test(.needsFFmpeg, arguments: ["a.mp4", "a.mkv"])
  func soundThatMayBeDoubledTakesNoDecoderOfPictures(name: String) throws {
    let coded = ["-pix_fmt", "yuv420p", "-c:v", "libx264", "-c:a", "aac", "-ac", "1", "-ar", "22050"]
    let file = try FFmpegTool.make(name, FFmpegTool.picture + FFmpegTool.tone + coded)
    #expect(expectAllWaysAgree(on: file, name).contains(.header))
    let media = try file.read(as: try #require(file.sniffed)).media
    #expect(media.audio == [AudioFacts(codec: "aac", channels: 1, sampleRate: 22_050)])
  }

  /// Encrypted as by FFmpeg, which leaves the headers of all pictures in the clear.
  @Test(
    .needsFFmpeg,
    arguments: ["libx264", "libx265 -x265-params log-level=none", "mpeg4"])
  func encryptedFilesAreToldTheSame(encoder: String) throws {
    let key = ["-encryption_scheme", "cenc-aes-ctr", "-encryption_key", "76a6c65c5ea762046bd749a2e632ccbb"]
    let coded =
      ["-pix_fmt", "yuv420p", "-c:v"] + encoder.split(separator: " ").map(String.init) + ["-c:a", "aac"] + key
      + ["-encryption_kid", "a7e61c373e219033c21091fa607bf3b8"]
    let file = try FFmpegTool.make("a.mp4", FFmpegTool.picture + FFmpegTool.tone + coded)
    expectAllWaysAgree(on: file, encoder)
    let media = try file.read(as: .mp4).media
    #expect(media.encrypted == true && media.video?.width == 64 && media.video?.height == 48)
    #expect(media.video?.frameRate?.value == 25 && media.audio.first?.channels == 1)
  }

  /// `REEL_MORE_FILES` names a folder with arbitrary files.
  @Test(.enabled(if: ProcessInfo.processInfo.environment["REEL_MORE_FILES"] != nil, "needs REEL_MORE_FILES"))
  func allWaysAgreeOnMoreFiles() throws {
    let folder = try #require(ProcessInfo.processInfo.environment["REEL_MORE_FILES"])
    for name in FileManager.default.enumerator(atPath: folder)?.compactMap({ $0 as? String }) ?? [] {
      guard let file = OpenFile(folder + "/" + name), file.size > 0 else { continue }
      expectAllWaysAgree(on: file, name)
    }
  }
}

/// Reads the file in full, by its packets, and in the default way, and returns the ways that were possible.
@discardableResult
func expectAllWaysAgree(on file: OpenFile, _ name: String) -> Set<ProbeMethod> {
  guard let container = file.sniffed else { return [] }
  let full = file.result(as: container, by: [.full])
  var methods: Set<ProbeMethod> = []
  for ways in [FFmpegReader.quickWays, [.packets]] {
    let quick = file.result(as: container, by: ways)
    switch (quick, full) {
    case (.success(let quick), .success(let full)):
      methods.insert(quick.method)
      for difference in differences(quick.media, full.media) {
        Issue.record("\(name): \(difference), by \(quick.method)")
      }
    case (.failure(let quick), .failure(let full)): #expect(quick == full, "\(name)")
    default: Issue.record("\(name): \(quick), in full \(full)")
    }
  }
  return methods
}

extension OpenFile {
  fileprivate func result(
    as container: MediaContainer, by ways: Set<ProbeMethod>
  ) -> Result<Reading, ProbeError> {
    do throws(ProbeError) { return .success(try read(as: container, by: ways)) } catch {
      return .failure(error)
    }
  }
}

/// Every field in which two answers differ.
func differences(_ quick: MediaInfo, _ full: MediaInfo) -> [String] {
  func flat(_ value: Any, _ name: String) -> [(String, String)] {
    let children = Mirror(reflecting: value).children
    if children.isEmpty || value is any CustomStringConvertible { return [(name, "\(value)")] }
    return children.flatMap { flat($0.value, name + "." + ($0.label ?? "")) }
  }
  return zip(flat(quick, ""), flat(full, "")).compactMap { left, right in
    left == right ? nil : "\(left.0): \(left.1), in full \(right.1)"
  } + (quick == full ? [] : ["they are not equal"])
}
