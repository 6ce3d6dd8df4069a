import CFFmpeg
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelProbe

/// Several audio frames that share a block and its timestamp (RFC 9559, 10.3).
@Suite(.needsFFmpeg)
struct MatroskaLacingTests {
  /// Laces the frames of a track in a file with one segment, whose clusters contain simple blocks.
  ///
  /// - Parameter frames: The number of frames that share a block.
  /// - Parameter lasting: The duration in nanoseconds that the header states for each track's frames.
  private func laced(_ bytes: [UInt8], track: UInt8, frames: Int, lasting: Int? = nil) throws -> [UInt8] {
    let file = BytesInMemory(all: bytes)
    func contents(_ element: EBMLElement) -> [UInt8] {
      Array(bytes[Int(element.contents)..<Int(element.end ?? file.size)])
    }
    let head = try #require(EBMLElement(file, at: 0)?.end)
    var found: [UInt8] = []
    var next = try #require(EBMLElement(file, at: head)).contents
    while let element = EBMLElement(file, at: next), let end = element.end {
      if element.id == MatroskaID.cluster {
        found += SmallMatroska.element(element.id, lacedCluster(element, file, track, frames, contents))
      } else if let lasting, element.id == MatroskaID.tracks {
        // FFmpeg 7 states a duration itself.
        let entries = element.children(in: file).filter { $0.id == 0xAE }.flatMap { entry in
          let others = entry.children(in: file).filter { $0.id != 0x23E383 }
          return SmallMatroska.element(
            0xAE,
            others.flatMap { SmallMatroska.element($0.id, contents($0)) }
              + SmallMatroska.number(0x23E383, lasting))
        }
        found += SmallMatroska.element(element.id, entries)
      } else if ![MatroskaID.cues, 0x114D_9B74].contains(element.id) {
        found += SmallMatroska.element(element.id, contents(element))
      }
      next = end
    }
    return Array(bytes[..<Int(head)]) + SmallMatroska.element(MatroskaID.segment, found)
  }

  private func lacedCluster(
    _ cluster: EBMLElement, _ file: BytesInMemory, _ track: UInt8, _ frames: Int,
    _ contents: (EBMLElement) -> [UInt8]
  ) -> [UInt8] {
    var (found, waiting): ([UInt8], [[UInt8]]) = ([], [])
    func flush() {
      guard let first = waiting.first, waiting.count > 1 else {
        if let one = waiting.first { found += SmallMatroska.element(MatroskaID.simpleBlock, one) }
        waiting = []
        return
      }
      // Xiph lacing: a size is a sequence of 255s and the remainder.
      var sizes: [UInt8] = []
      for one in waiting.dropLast() {
        let size = one.count - 4
        sizes += [UInt8](repeating: 255, count: size / 255)
        sizes.append(UInt8(size % 255))
      }
      var block = Array(first[..<3])
      block += [first[3] | 2, UInt8(waiting.count - 1)]
      block += sizes
      for one in waiting { block += one.dropFirst(4) }
      found += SmallMatroska.element(MatroskaID.simpleBlock, block)
      waiting = []
    }
    for element in cluster.children(in: file) {
      let own = contents(element)
      if element.id == MatroskaID.simpleBlock, own.first == 0x80 | track {
        waiting.append(own)
        if waiting.count == frames { flush() }
      } else {
        found += SmallMatroska.element(element.id, own)
      }
    }
    flush()
    return found
  }

  @Test(
    arguments: [
      ("a.mka", "aac"), ("a.mka", "flac"), ("a.mkv", "aac"), ("a.mkv", "libmp3lame"), ("a.mkv", "ac3"),
    ],
    [2, 4, 8])
  func framesThatShareABlock(file: (name: String, codec: String), frames: Int) throws {
    let picture = file.name == "a.mkv" ? FFmpegTool.picture + ["-c:v", "mpeg4"] : []
    let coded = ["-c:a", file.codec, "-ac", "1", "-ar", "48000"]
    let plain = try FFmpegTool.make(file.name, picture + FFmpegTool.tone + coded)
    let bytes = try laced(plain.allBytes, track: picture.isEmpty ? 1 : 2, frames: frames)
    let made = try #require(OpenFile(holding: bytes))
    for ways in [FFmpegReader.quickWays, [.full], [.thorough]] as [Set<ProbeMethod>] {
      let (media, truth) = (
        try made.read(as: .matroska, by: ways).media, try plain.read(as: .matroska, by: ways).media
      )
      #expect(media.audio == truth.audio && media.audio.first?.sampleRate == 48_000)
      #expect(media.duration == truth.duration, "\(media.duration ?? 0)")
      #expect(media.video?.frameRate == truth.video?.frameRate)
      #expect(media.warnings.isEmpty, "\(media.warnings)")
    }
  }

  /// Without video, mkvmerge counts in ticks of one sample, and states each frame's duration.
  @Test(arguments: [21_333_333, 21_866_666, 20_000_000]) func anUnusualTick(lasting: Int) throws {
    let coded = ["-c:a", "ac3", "-ac", "1", "-ar", "48000"]
    let plain = try FFmpegTool.make("a.mka", FFmpegTool.tone + coded)
    // Each frame has 1536 samples.
    var bytes = try laced(plain.allBytes, track: 1, frames: 4, lasting: lasting * 3 / 2)
    let place = try #require(bytes.position(of: [0x2A, 0xD7, 0xB1, 0x83, 0x0F, 0x42, 0x40]))
    bytes.replaceSubrange((place + 4)..<(place + 7), with: [0x0F, 0x3E, 0x58])
    let warnings = try #require(OpenFile(holding: bytes)).read(as: .matroska).media.warnings
    #expect(warnings.map(\.code) == (lasting == 21_333_333 ? [] : [.claimUnchecked]), "\(warnings)")
  }

  /// mkvmerge keeps the milliseconds of its source, in ticks of one sample.
  @Test(arguments: [21_333_333, 20_906_666]) func roundedTimesKeepAPaceOnTheWhole(lasting: Int) {
    let (tick, frames) = (20_832.0, 8.0)
    var clock = ContentClock(base: AVRational(num: 20_832, den: 1_000_000_000), ahead: 10)
    clock.note(1, stated: Double(lasting) / tick)
    let times = (0..<50).map { (Double($0) * frames * 1024 / 48).rounded() * 1e6 / tick }
    for (time, next) in zip(times, times.dropFirst()) {
      clock.note(1, step: Int64(next.rounded()) - Int64(time.rounded()), of: Int64(frames))
    }
    #expect(clock.keepsStatedPace(1) == (lasting == 21_333_333))
  }

  /// The first of several laced frames is checked against the track's claim, as a single one is.
  @Test func aClaimIsHeldToTheFirstFrame() throws {
    let coded = ["-c:v", "mpeg4", "-c:a", "ac3", "-ac", "1", "-ar", "48000"]
    let plain = try FFmpegTool.make("a.mkv", FFmpegTool.picture + FFmpegTool.tone + coded)
    var bytes = try laced(plain.allBytes, track: 2, frames: 4)
    // The number of channels in the track's audio element.
    let place = try #require(bytes.position(of: [0x9F, 0x81, 0x01]))
    bytes[place + 2] = 6
    let media = try #require(OpenFile(holding: bytes)).read(as: .matroska).media
    #expect(media.audio.first?.channels == 1)
  }
}
