import Glibc
import ReelCore
import ReelMend
import ReelPicture
import ReelProbe
import ReelWire

/// The program that reads untrusted files for `reel` with FFmpeg's libraries, confined.
@main
enum ProbeWorker {
  static func main() {
    WorkerProgram.run(FFmpegFileReader())
    let line =
      "reel-probe-worker reads media files in a confined process; reel starts it by itself, not you by hand\n"
    _ = line.withCString { write(STDERR_FILENO, $0, strlen($0)) }
    exit(64)
  }
}

/// FFmpeg, as a worker's reader.
struct FFmpegFileReader: FileReader {
  var version: String { FFmpegReader.version }

  func read(_ descriptor: Int32, _ request: ReadRequest) -> ReadReply {
    read(.descriptor(descriptor), request)
  }

  func read(_ bytes: AskedBytes, _ request: ReadRequest) -> ReadReply {
    read(.asking { bytes.read(into: $0, at: $1, expecting: $2) }, request)
  }

  private func read(_ file: FileBytes, _ request: ReadRequest) -> ReadReply {
    do throws(ProbeError) {
      var limits = ReadingLimits(request)
      if request.isThorough { limits.scanEverything() }
      let reading = try FFmpegReader(
        limits: limits, ways: request.isThorough ? [.thorough] : FFmpegReader.quickWays
      )
      .read(file, size: request.size, container: request.container)
      return .facts(
        reading.media, reading.method, reason: reading.reason, evidence: reading.evidence,
        rewriting: reading.rewriting)
    } catch {
      return .failure(error)
    }
  }
}

// Pictures.
extension FFmpegFileReader {
  func prepareForPictures() { PictureReader.prepare() }

  func pictures(_ descriptor: Int32, _ request: PictureRequest) -> (PictureReply, [UInt8]) {
    do throws(PosterError) {
      switch request {
      case .poster(let file, let options): return try poster(descriptor, file, options)
      case .frames(let file, let count, let side): return try frames(descriptor, file, count, side)
      case .jpeg(let width, let height):
        let bytes = try PictureReader.jpeg(try Self.picture(descriptor, width, height))
        return (.jpeg(byteCount: bytes.count), bytes)
      }
    } catch {
      return (.failure(error), [])
    }
  }

  private func poster(
    _ descriptor: Int32, _ file: ReadRequest, _ options: PosterOptions
  ) throws(PosterError) -> (PictureReply, [UInt8]) {
    let poster = try PictureReader(limits: ReadingLimits(file))
      .poster(descriptor: descriptor, size: file.size, container: file.container, options: options)
    let facts = PictureReply.PosterFacts(
      width: poster.width, height: poster.height, blurHash: poster.blurHash, isCover: poster.isCover,
      time: poster.time)
    return (.poster(facts, byteCount: poster.jpeg.count), poster.jpeg)
  }

  private func frames(
    _ descriptor: Int32, _ file: ReadRequest, _ count: Int, _ side: Int
  ) throws(PosterError) -> (PictureReply, [UInt8]) {
    let frames = try PictureReader(limits: ReadingLimits(file))
      .frames(
        descriptor: descriptor, size: file.size, container: file.container, count: count, side: side)
    let facts = frames.map {
      PictureReply.FrameFacts(width: $0.picture.width, height: $0.picture.height, time: $0.time)
    }
    // This is already a second copy of the pixels. Reserve its whole size so that growing it never makes a third.
    var bytes: [UInt8] = []
    bytes.reserveCapacity(facts.reduce(0) { $0 + $1.byteCount })
    for frame in frames { bytes += frame.picture.bytes }
    return (.frames(facts), bytes)
  }

  /// The picture whose pixels the descriptor holds.
  private static func picture(
    _ descriptor: Int32, _ width: Int, _ height: Int
  ) throws(PosterError) -> RawPicture {
    let count = 3 * width * height
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = (try? readFully(descriptor, into: UnsafeMutableRawBufferPointer(buffer), at: 0)) ?? 0
    }
    guard let picture = RawPicture(width: width, height: height, bytes: bytes) else {
      throw PosterError(.unreadable, "its pixels are not all there")
    }
    return picture
  }
}

// Mending.
extension FFmpegFileReader {
  func mend(
    _ descriptor: Int32, output: Int32?, _ request: MendRequest, willWrite: () -> Void
  ) -> MendReply {
    do throws(MendError) {
      switch request {
      case .mend(let file, let options):
        guard let output else { throw MendError(.notWritten, "there is no file to write to") }
        let outcome = try FileMender(limits: ReadingLimits(file))
          .mend(
            descriptor: descriptor, size: file.size, container: file.container, options: options,
            output: output, willWrite: willWrite)
        return .mended(outcome.done, size: outcome.size)
      case .digest(let file, let options):
        return .digests(
          try PacketDigests(limits: ReadingLimits(file), options: options)
            .digests(descriptor: descriptor, size: file.size, container: file.container))
      }
    } catch {
      return .failure(error)
    }
  }
}

extension ReadingLimits {
  /// The limits that a request sets.
  fileprivate init(_ request: ReadRequest) {
    self.init(bytes: request.byteBudget, seconds: Double(request.milliseconds) / 1000)
  }
}
