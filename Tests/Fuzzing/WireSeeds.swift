import FoundationEssentials
import Glibc
import ReelCore
import ReelWire

/// Writes a file with each kind of frame, whole and without its envelope, into a folder: the fuzzer's seed corpus.
@main
enum WireSeeds {
  static func main() throws {
    for (number, frame) in try frames().enumerated() {
      try write(frame, to: "frame-\(number)")
      // The fuzzer adds the envelope of this kind itself.
      try write([frame[5] - 1] + frame.dropFirst(10), to: "payload-\(number)")
    }
  }

  private static func frames() throws -> [[UInt8]] {
    [
      try WorkerStart(role: .confined, memory: 512 << 20, processorSeconds: 10).encoded(),
      try WorkerHello(version: ReaderVersion(reel: "1.0.0", ffmpeg: "59.27.100"), isolation: .none).encoded(),
      try ReadRequest(size: 1000, container: .mp4, byteBudget: 1 << 20, milliseconds: 9000).encoded(),
      try ForkRequest(.reading, processorSeconds: 10).encoded(), try ForkReply.forked(4711).encoded(),
      try ForkReply.failed(11).encoded(),
      try ReceiptRequest().encoded(),
      try RangeRequest(position: 4096, count: 1024, expected: 300_000).encoded(),
      try RangeReply.bytes([1, 2, 3]).encoded(), try RangeReply.failure.encoded(),
      try ReadReply.failure(ProbeError(.corrupt, "it is damaged; get it again", found: "a video")).encoded(),
      try ReadReply.facts(MediaInfo(container: .webm, size: 1000), .header).encoded(),
      try ReadReply.facts(full, .full, reason: "no size").encoded(),
    ]
  }

  private static var full: MediaInfo {
    var media = MediaInfo(container: .mp4, size: 123_456)
    (media.duration, media.durationSource) = (12.5, .container)
    (media.title, media.artist) = ("A title", "Somebody")
    media.createdAt = Date(timeIntervalSince1970: 1_700_000_000)
    media.external = true
    media.warnings = [
      MediaWarning(.truncated, "its end is missing"), MediaWarning(.sizeMismatch, "it has more"),
    ]
    var video = VideoFacts()
    (video.width, video.height) = (1920, 1080)
    media.video = video
    return media
  }

  private static func write(_ bytes: [UInt8], to name: String) throws {
    try Data(bytes).write(to: URL(filePath: CommandLine.arguments[1]).appending(path: name))
  }
}
