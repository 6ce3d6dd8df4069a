/// A playlist of each kind that a demuxer, a player or a proxy would follow.
enum PlaylistTexts {
  static let all: [(kind: String, text: String)] = lines + documents

  private static let sibling = Playlists.secret

  private static let lines = [
    ("hls", "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n\(sibling)\n#EXT-X-ENDLIST\n"),
    ("hls-key", "#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI=\"\(sibling)\"\n#EXTINF:1,\nhttp://127.0.0.1:9/a\n"),
    ("m3u", "#EXTM3U\n\(sibling)\n"),
    ("ffconcat", "ffconcat version 1.0\nfile \(sibling)\n"),
    ("sdp", "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\n"),
    ("pls", "[playlist]\nFile1=\(sibling)\nNumberOfEntries=1\nVersion=2\n"),
    ("reference", "[Reference]\nRef1=http://127.0.0.1:9/x.asf\n"),
    ("address", "http://127.0.0.1:9/\(sibling)\n"),
  ]

  private static let documents = [
    (
      "dash",
      """
      <?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"
        profiles="urn:mpeg:dash:profile:isoff-on-demand:2011"><Period><AdaptationSet><Representation id="1">
        <BaseURL>\(sibling)</BaseURL></Representation></AdaptationSet></Period></MPD>
      """
    ),
    (
      "xspf",
      """
      <?xml version="1.0"?><playlist version="1" xmlns="http://xspf.org/ns/0/"><trackList><track>
        <location>\(sibling)</location></track></trackList></playlist>
      """
    ),
    ("asx", "<asx version=\"3.0\"><entry><ref href=\"\(sibling)\"/></entry></asx>"),
    ("smil", "<smil><body><video src=\"\(sibling)\"/></body></smil>"),
    ("wpl", "<?wpl version=\"1.0\"?><smil><body><seq><media src=\"\(sibling)\"/></seq></body></smil>"),
    (
      "imf",
      """
      <?xml version="1.0"?>
      <CompositionPlaylist xmlns="http://www.smpte-ra.org/schemas/2067-3/2016"/>
      """
    ),
    ("smooth", "<?xml version=\"1.0\"?><SmoothStreamingMedia MajorVersion=\"2\"/>"),
  ]
}
