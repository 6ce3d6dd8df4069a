/// Every kind of playlist under every extension of a video. Each refers to a sibling or an address, which nothing may
/// open.
struct Playlists {
  /// The sibling's name. It is hidden, so that no walk finds it, and is a stream that a player would open. A test
  /// watches that nothing does.
  static let secret = ".secret.ts"
  let video: [UInt8]
  let stream: [UInt8]

  var files: [HostileFile] {
    named + disguised + polyglots + [HostileFile("playlists", Self.secret, .bytes(stream), [])]
  }

  private static let extensions = [
    "mp4", "m4v", "mov", "mkv", "webm", "avi", "flv", "ts", "m2ts", "mpg", "3gp", "ogv", "mxf", "wmv",
  ]

  private var named: [HostileFile] {
    PlaylistTexts.all.flatMap { kind, text in
      Self.extensions.map {
        HostileFile("playlists", "\(kind).\($0)", .bytes(Array(text.utf8)), Answers.playlist)
      }
    }
  }

  /// Playlists after characters that other players skip before the first word.
  private var disguised: [HostileFile] {
    PlaylistTexts.all.flatMap { kind, text in
      [("mark", "\u{FEFF}"), ("space", " \r\n\t\n")].map { name, before in
        HostileFile("playlists", "\(name)-\(kind).mp4", .bytes(Array((before + text).utf8)), Answers.playlist)
      }
    }
  }

  /// Files that are two things at once. FFmpeg takes a playlist before a video for a playlist. After a video's magic
  /// number it does not, except where it looks for a playlist's words anywhere before the first NUL.
  private var polyglots: [HostileFile] {
    PlaylistTexts.all.flatMap { kind, text in
      let playlist = Array(text.utf8)
      let tag = Array("ID3".utf8) + [3, 0, 0, 0, 0, 0, 16] + Array(repeating: 0, count: 16)
      return [
        HostileFile("playlists", "\(kind)-then-video.mp4", .bytes(playlist + video), Answers.playlist),
        HostileFile("playlists", "video-then-\(kind).mp4", .bytes(video + playlist), ["ok", "corrupt"]),
        HostileFile("playlists", "tag-then-\(kind).mp4", .bytes(tag + playlist), Answers.playlist),
        HostileFile(
          "playlists", "magic-then-\(kind).mkv", .bytes([0x1A, 0x45, 0xDF, 0xA3] + playlist),
          ["corrupt", "truncated", "indexMissing", "unsupported", "playlist"]),
        HostileFile(
          "playlists", "box-then-\(kind).mp4", .bytes(be32(16) + Array("ftypisom".utf8) + be32(0) + playlist),
          ["corrupt", "truncated", "indexMissing"]),
      ]
    }
  }
}
