import Glibc
import ReelTestSupport
import Testing

/// The `ffmpeg` program, with which some tests make their files.
enum FFmpegTool {
  /// Makes a file named `name` with the given arguments, which precede the name.
  static func make(_ name: String, _ arguments: [String]) throws -> OpenFile {
    try FFmpegProgram.make(name, arguments) { try #require(OpenFile($0)) }
  }

  /// The seconds from the first packet of `file` to the end of the last one, as ffmpeg reads them.
  static func length(of file: OpenFile) throws -> Double {
    let arguments = ["-i", file.path, "-map", "0", "-c", "copy", "-copyts"]
    let printed = try FFmpegProgram.output(arguments + ["-f", "framecrc", "-"])
    var (units, first, last): ([Int: Double], Double, Double) = ([:], .infinity, -.infinity)
    for line in String(decoding: printed, as: UTF8.self).split(separator: "\n") {
      let words = line.split { " ,:/".contains($0) }
      if words.count == 4, words[0] == "#tb", let stream = Int(words[1]), let over = Double(words[2]),
        let under = Double(words[3])
      {
        units[stream] = over / under
      } else if words.count > 4, let stream = Int(words[0]), let unit = units[stream],
        let shown = Double(words[2]), let lasts = Double(words[3])
      {
        (first, last) = (min(first, shown * unit), max(last, (shown + lasts) * unit))
      }
    }
    return last - first
  }

  /// Expects all ways of reading to agree on the files made with `arguments` in each of `names`. A container may
  /// refuse the content; if all do, the test fails, unless an encoder crashes (x265 4.1 does with slices).
  static func expectAllWaysAgree(in names: [String], frames: Int, _ arguments: [String]) {
    var isExcused = false
    var (count, errors): (Int, [String]) = (0, [])
    for name in names {
      do {
        let made = try make(name, picture + ["-frames:v", "\(frames)"] + arguments)
        count += 1
        ReelProbeTests.expectAllWaysAgree(on: made, "\(name) of \(frames) frames, \(arguments)")
      } catch let failure as FFmpegProgram.Failure where failure.isCrash {
        isExcused = true
        print("SKIPPED: ffmpeg crashes when it makes \(name) with \(arguments)")
      } catch {
        errors.append("\(error)")
      }
    }
    #expect(count > 0 || isExcused, "none of \(names) was made with \(arguments): \(errors.last ?? "")")
  }

  /// Two seconds of a test picture, 64x48 at 25 frames per second.
  static let picture = ["-f", "lavfi", "-i", "testsrc=size=64x48:rate=25:duration=2"]
  /// Filters that set the colors of a picture. FFmpeg 7 ignores options such as `-color_trc`.
  static let pq = "setparams=color_primaries=bt2020:color_trc=smpte2084:colorspace=bt2020nc"
  static let hlg = "setparams=color_trc=arib-std-b67"
  /// Two seconds of a tone.
  static let tone = ["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=44100:duration=2"]
}
