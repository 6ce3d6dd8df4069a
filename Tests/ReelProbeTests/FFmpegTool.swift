import ReelTestSupport

/// The `ffmpeg` program, which some tests let make their files.
enum FFmpegTool {
  static let path = FFmpegProgram.path

  /// The encoders that the tests ask for and this build of the program lacks: what they would make is left out.
  static let missingEncoders: [String] = {
    let wanted = [
      "aac", "ac3", "dnxhd", "dvvideo", "ffv1", "flv", "h263", "jpeg2000", "libaom-av1", "libopus",
      "libsvtav1",
      "libtheora", "libvorbis", "libvpx", "libvpx-vp9", "libx264", "libx265", "mjpeg", "mp2", "mpeg1video",
      "mpeg2video", "mpeg4", "msmpeg4", "pcm_s16le", "png", "prores_ks", "wmav2", "wmv1", "wmv2",
    ]
    let printed = (try? FFmpegProgram.output(["-encoders"])) ?? []
    let listed = Set(String(decoding: printed, as: UTF8.self).split { $0.isWhitespace })
    return wanted.filter { !listed.contains(Substring($0)) }
  }()

  /// What the program writes into a file named `name`, given the arguments that stand before it.
  /// Nil where it can't be made: an encoder may be missing.
  static func make(_ name: String, _ arguments: [String]) throws -> OpenFile? {
    do {
      return try FFmpegProgram.make(name, arguments) { OpenFile($0) }
    } catch is FFmpegProgram.Failure {
      return nil
    }
  }

  /// Two seconds of a test picture, 64x48 at 25 frames a second.
  static let picture = ["-f", "lavfi", "-i", "testsrc=size=64x48:rate=25:duration=2"]
  /// Two seconds of a tone.
  static let tone = ["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=44100:duration=2"]
}
