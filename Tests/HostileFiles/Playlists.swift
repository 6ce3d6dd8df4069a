/// Every kind of playlist under every name of a video. Each names a sibling and an address, which nobody may open.
struct Playlists {
  /// The sibling's name. A test watches it.
  static let secret = "secret.ts"
  let video: [UInt8]

  var files: [HostileFile] { named + disguised + polyglots + neighbours }

  private static let extensions = [
    "mp4", "m4v", "mov", "mkv", "webm", "avi", "flv", "ts", "m2ts", "mpg", "3gp", "ogv", "mxf", "wmv",
  ]

  private var named: [HostileFile] {
    Self.kinds.flatMap { kind, text in
      Self.extensions.map {
        HostileFile("playlists", "\(kind).\($0)", .bytes(Array(text.utf8)), Answers.playlist)
      }
    }
  }

  static let kinds: [(String, String)] = [
    ("hls", "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n\(secret)\n#EXT-X-ENDLIST\n"),
    (
      "hls-key", "#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI=\"\(secret)\"\n#EXTINF:1,\nhttp://127.0.0.1:9/a.ts\n"
    ),
    ("m3u", "#EXTM3U\n\(secret)\n"),
    (
      "dash",
      "<?xml version=\"1.0\"?><MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" profiles=\"urn:mpeg:dash:profile:isoff-on-demand:2011\" type=\"static\"><Period><AdaptationSet><Representation id=\"1\"><BaseURL>\(secret)</BaseURL></Representation></AdaptationSet></Period></MPD>"
    ),
    ("ffconcat", "ffconcat version 1.0\nfile \(secret)\n"),
    ("asx", "<asx version=\"3.0\"><entry><ref href=\"\(secret)\"/></entry></asx>"),
    ("sdp", "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\n"),
    ("pls", "[playlist]\nFile1=\(secret)\nNumberOfEntries=1\nVersion=2\n"),
    (
      "xspf",
      "<?xml version=\"1.0\"?><playlist version=\"1\" xmlns=\"http://xspf.org/ns/0/\"><trackList><track><location>\(secret)</location></track></trackList></playlist>"
    ),
    ("smil", "<smil><body><video src=\"\(secret)\"/></body></smil>"),
    ("wpl", "<?wpl version=\"1.0\"?><smil><body><seq><media src=\"\(secret)\"/></seq></body></smil>"),
    (
      "imf",
      "<?xml version=\"1.0\"?><CompositionPlaylist xmlns=\"http://www.smpte-ra.org/schemas/2067-3/2016\"/>"
    ),
    ("smooth", "<?xml version=\"1.0\"?><SmoothStreamingMedia MajorVersion=\"2\"/>"),
    ("reference", "[Reference]\nRef1=http://127.0.0.1:9/x.asf\n"),
    ("address", "http://127.0.0.1:9/\(secret)\n"),
  ]

  /// What other players skip before the first word.
  private var disguised: [HostileFile] {
    Self.kinds.flatMap { kind, text in
      [("mark", "\u{FEFF}"), ("space", " \r\n\t\n")].map { name, before in
        HostileFile("playlists", "\(name)-\(kind).mp4", .bytes(Array((before + text).utf8)), Answers.playlist)
      }
    }
  }

  /// Two things at once. A playlist before a video is a playlist to FFmpeg; behind a video's magic it is none,
  /// except where FFmpeg looks for its words anywhere before the first NUL.
  private var polyglots: [HostileFile] {
    Self.kinds.flatMap { kind, text in
      let playlist = Array(text.utf8)
      let tag = Array("ID3".utf8) + [3, 0, 0, 0, 0, 0, 16] + Array(repeating: 0, count: 16)
      return [
        HostileFile("playlists", "\(kind)-then-video.mp4", .bytes(playlist + video), Answers.playlist),
        HostileFile("playlists", "video-then-\(kind).mp4", .bytes(video + playlist), ["ok", "corrupt"]),
        HostileFile("playlists", "tag-then-\(kind).mp4", .bytes(tag + playlist), Answers.playlist),
        HostileFile(
          "playlists", "magic-then-\(kind).mkv", .bytes([0x1A, 0x45, 0xDF, 0xA3] + playlist),
          ["corrupt", "truncated", "unsupported", "playlist"]),
        HostileFile(
          "playlists", "box-then-\(kind).mp4", .bytes(be32(16) + Array("ftypisom".utf8) + be32(0) + playlist),
          ["corrupt", "truncated"]),
      ]
    }
  }

  /// What the playlists point at, and what a pattern in a name would.
  private var neighbours: [HostileFile] {
    // No video: nothing reads it, since nothing in its name or bytes says that anybody should.
    [HostileFile("playlists", "\(Self.secret).txt", .bytes(Array("the secret".utf8)), [])]
  }
}
