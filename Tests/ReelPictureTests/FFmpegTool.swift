import Foundation
import Glibc
import ReelCore
import ReelPicture
import ReelProbe
import ReelTestSupport
import Testing

/// The `ffmpeg` program, which makes these tests' videos and decodes JPEGs.
enum FFmpegTool {
  /// Its standard output.
  static func output(_ arguments: [String]) throws -> [UInt8] {
    try FFmpegProgram.output(["-threads", "1"] + arguments)
  }

  /// The file of that name that it writes.
  static func make(_ name: String, _ arguments: [String]) throws -> [UInt8] {
    try FFmpegProgram.make(name, ["-threads", "1"] + arguments) { path in
      Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }
  }
}

/// The mean colors of a picture's regions: how it looks from a distance.
struct Look: Equatable {
  let colours: [UInt8]

  private static let output = [
    "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "rgb24", "-",
  ]

  /// Not directly to `gbrp`: FFmpeg 7.1 leaves the last columns black at some widths.
  private static let converted = "format=rgb24,format=gbrp"

  /// The look of a still drawn by a filter graph.
  init(drawn source: String, _ filter: String = "null") throws {
    colours = try FFmpegTool.output(
      ["-f", "lavfi", "-i", source, "-vf", "\(filter),\(Self.converted),scale=16:9:flags=area"] + Self.output)
  }

  /// The look of a JPEG.
  init(jpeg: [UInt8]) throws {
    let file = NSTemporaryDirectory() + "/reel-look-\(UUID().uuidString).jpg"
    try Data(jpeg).write(to: URL(fileURLWithPath: file))
    defer { try? FileManager.default.removeItem(atPath: file) }
    colours = try FFmpegTool.output(
      ["-f", "mjpeg", "-i", file, "-vf", "\(Self.converted),scale=16:9:flags=area"] + Self.output)
  }

  /// The mean difference of a color component, from 0 to 255.
  func distance(to other: Look) -> Double {
    guard colours.count == other.colours.count, !colours.isEmpty else { return 255 }
    let sum = zip(colours, other.colours).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
    return Double(sum) / Double(colours.count)
  }
}

/// A temporary file with a video.
final class TestVideo {
  struct NoContainer: Error {}

  let descriptor: Int32
  let size: Int64
  let container: MediaContainer

  init(_ bytes: [UInt8]) throws {
    var name = Array((NSTemporaryDirectory() + "/reel-picture-test-XXXXXX").utf8CString)
    descriptor = mkstemp(&name)
    unlink(name)
    size = Int64(bytes.count)
    let head = Array(bytes.prefix(Sniffer.headLength))
    guard pwrite(descriptor, bytes, bytes.count, 0) == bytes.count,
      case .container(let container) = Sniffer.verdict(head: head, size: size)
    else { throw NoContainer() }
    self.container = container
  }

  deinit {
    close(descriptor)
  }

  func poster(size side: Int = 512, prefersCover: Bool = false) throws(PosterError) -> Poster {
    try PictureReader(limits: ReadingLimits(seconds: 600)).poster(
      descriptor: descriptor, size: size, container: container,
      options: PosterOptions(size: side, prefersCover: prefersCover))
  }

  func frames(count: Int, side: Int = 160) throws(PosterError) -> [(picture: RawPicture, time: Double?)] {
    try PictureReader(limits: ReadingLimits(seconds: 600)).frames(
      descriptor: descriptor, size: size, container: container, count: count, side: side)
  }
}
