import Glibc
import ReelCore
import ReelProbe
import ReelWire

/// The program that reads strangers' files for `reel`, confined, with FFmpeg's libraries.
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
    let limits = ReadingLimits(bytes: request.byteBudget, seconds: Double(request.milliseconds) / 1000)
    do throws(ProbeError) {
      let reading = try FFmpegReader(limits: limits)
        .read(descriptor: descriptor, size: request.size, container: request.container)
      return .facts(reading.media, reading.method, reason: reading.reason)
    } catch {
      return .failure(error)
    }
  }
}
