import ReelCore

extension KnownHead {
  static let refusals = playlists + texts + pictures + streams + sounds + others

  static let playlists: [KnownHead] = [
    .refused(.playlist, "an HLS playlist", "#EXTM3U\n#EXT-X-TARGETDURATION:10\nfile:///etc/passwd\n"),
    .refused(.playlist, "an HLS playlist", "#EXT-X-VERSION:3\n"),
    .refused(.playlist, "an M3U playlist", "#EXTM3U\nother.mp4\n"),
    .refused(.playlist, "an ffconcat list", "ffconcat version 1.0\nfile other.mp4\n"),
    .refused(
      .playlist, "a DASH manifest", "<?xml version=\"1.0\"?>\n<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\">"),
    .refused(.playlist, "a DASH manifest", "<MPD profiles=\"urn:mpeg:dash:profile:isoff-live:2011\">"),
    .refused(.playlist, "a Smooth Streaming manifest", "<?xml?><SmoothStreamingMedia MajorVersion=\"2\">"),
    .refused(.playlist, "an ASX playlist", "<asx version=\"3.0\"><entry/></asx>"),
    .refused(.playlist, "a SMIL playlist", "<smil><body/></smil>"),
    .refused(.playlist, "a Windows Media playlist", "<?wpl version=\"1.0\"?>"),
    .refused(.playlist, "an XSPF playlist", "<?xml?><playlist xmlns=\"http://xspf.org/ns/0/\">"),
    .refused(.playlist, "a PLS playlist", "[playlist]\nFile1=a.mp4\n"),
    .refused(.playlist, "an ASF playlist", "[Reference]\nRef1=http://example.org/\n"),
    .refused(.playlist, "an SDP description", "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\n"),
    .refused(.playlist, "an SDP description", "s=x\nc=IN IP4 127.0.0.1\n"),
    .refused(.playlist, "an IMF playlist", "<?xml?><CompositionPlaylist>"),
    .refused(.playlist, "an EDL playlist", "# mpv EDL v0\na.mp4\n"),
    .refused(.playlist, "a list of addresses", "https://example.org/a.mp4\n"),
  ]

  static let texts: [KnownHead] = [
    .refused(
      .lfsPointer, "a Git LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"),
    .refused(
      .lfsPointer, "a Git LFS pointer", "version https://hawser.github.com/spec/v1\noid sha256:00\nsize 1\n"),
    .refused(.lfsPointer, "a Git LFS pointer", "version http://git-media.io/v/2\noid sha256:00\nsize 1\n"),
    .refused(.notMedia, "a pointer of git-annex", "/annex/objects/SHA256E-s7632--00.mp4\n"),
    .refused(.notMedia, "a WebVTT subtitle file", "WEBVTT\n\n00:01.000 --> 00:02.000\nHello\n"),
    .refused(.notMedia, "a SubRip subtitle file", "1\r\n00:00:01,000 --> 00:00:02,000\r\nHello\r\n"),
    .refused(.notMedia, "an ASS subtitle file", "[Script Info]\nTitle: x\n"),
    .refused(.notMedia, "a MicroDVD subtitle file", "{1}{1}25.000\n{10}{20}Hello\n"),
    .refused(.notMedia, "a TTML subtitle file", "<tt xmlns=\"http://www.w3.org/ns/ttml\"></tt>"),
    .refused(.notMedia, "an FFmpeg metadata file", ";FFMETADATA1\ntitle=x\n"),
    .refused(.notMedia, "an HTML page", "<!DOCTYPE html><title>404</title>"),
    .refused(.notMedia, "an HTML page", "<html><body>Not found</body></html>"),
    .refused(.notMedia, "an XML document", "<?xml version=\"1.0\"?><root/>"),
    .refused(.notMedia, "a JSON text", "{\"error\": \"not found\"}"),
    .refused(.notMedia, "a JSON text", "[{\"a\": 1}]"),
    .refused(.notMedia, "a text file", "Nothing to see here.\n"),
    .refused(.notMedia, "a text file", Array("Gr".utf8) + [0xFC] + Array("n, in Latin 1\n".utf8)),
    .refused(.notMedia, "a text file", "日本語のテキスト"),
    .refused(.notMedia, "a text file", String(repeating: "G", count: 5000)),
    .refused(.notMedia, "a text file", String(repeating: "ab\u{20AC}", count: 2000)),
    .refused(.notMedia, "a UTF-16 text", [0xFF, 0xFE] + Array("#EXTM3U\n".utf8).flatMap { [$0, 0] }),
    .refused(.notMedia, "a UTF-16 text", [0xFE, 0xFF] + Array("<html>".utf8).flatMap { [0, $0] }),
  ]

  static let pictures: [KnownHead] =
    ["heic", "heix", "mif1", "msf1", "hevc"].map { .refused(.unsupported, "a HEIF picture", Bytes.ftyp($0)) }
    + [
      .refused(.unsupported, "an AVIF picture", Bytes.ftyp("avif")),
      .refused(.unsupported, "a JPEG 2000 picture", Bytes.ftyp("jp2 ")),
      .refused(
        .unsupported, "a JPEG 2000 picture", Bytes.box("jP  ", [0x0D, 0x0A, 0x87, 0x0A]) + Bytes.ftyp("jp2 ")),
      .refused(
        .unsupported, "a Motion JPEG 2000 file",
        Bytes.box("jP  ", [0x0D, 0x0A, 0x87, 0x0A]) + Bytes.ftyp("mjp2")),
      .refused(
        .unsupported, "a JPEG XL picture", Bytes.box("JXL ", [0x0D, 0x0A, 0x87, 0x0A]) + Bytes.ftyp("jxl ")),
      .refused(.unsupported, "a Canon raw picture", Bytes.ftyp("crx ")),
      .refused(.unsupported, "a JPEG picture", [0xFF, 0xD8, 0xFF, 0xE0]),
      .refused(.unsupported, "a PNG picture", [0x89] + Array("PNG\r\n\u{1A}\n".utf8)),
      .refused(.unsupported, "a GIF picture", "GIF89a"),
      .refused(.unsupported, "a WebP picture", "RIFF\u{1}\u{1}\u{1}\u{0}WEBP"),
      .refused(
        .unsupported, "a BMP picture", Array("BM".utf8) + [9, 9, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0]),
      .refused(.unsupported, "a TIFF picture", "II*\u{0}"),
      .refused(.unsupported, "an icon", [0, 0, 1, 0, 1, 0, 16, 16, 0, 0, 1, 0, 32, 0]),
      .refused(.unsupported, "an SVG picture", "<?xml?><svg xmlns=\"http://www.w3.org/2000/svg\"/>"),
    ]

  static let streams: [KnownHead] = [
    .refused(.unsupported, "a raw H.264 stream", [0, 0, 0, 1, 0x67, 0x42, 0, 0x1E]),
    .refused(.unsupported, "a raw H.264 stream", [0, 0, 1, 0x09, 0xF0, 0, 0, 1]),
    .refused(.unsupported, "a raw H.265 stream", [0, 0, 0, 1, 0x40, 0x01, 0x0C, 0x01]),
    .refused(.unsupported, "a raw H.265 stream", [0, 0, 0, 1, 0x46, 0x01, 0x10, 0]),
    .refused(.unsupported, "a raw H.266 stream", [0, 0, 0, 1, 0x00, 0x79, 0x00, 0]),
    .refused(.unsupported, "a raw MPEG video stream", [0, 0, 1, 0xB3, 0x14, 0, 0xF0]),
    .refused(.unsupported, "a raw AV1 stream", [0x12, 0, 0x0A, 0x0B]),
    .refused(.unsupported, "an IVF file", "DKIF\u{0}\u{0}"),
    .refused(.unsupported, "a YUV4MPEG stream", "YUV4MPEG2 W16 H16\n"),
    .refused(
      .unsupported, "a segment of a stream",
      Bytes.box("styp", [0, 0]) + Bytes.box("moof") + Bytes.box("mdat")),
    .refused(.unsupported, "a segment of a stream", Bytes.box("moof") + Bytes.box("mdat", [1])),
    .refused(.unsupported, "an EBML document that is not a Matroska file", Bytes.ebml("other")),
    .refused(.unsupported, "a RealMedia file", ".RMF\u{0}"),
    .refused(.unsupported, "a Dahua recording", "DHAV\u{FD}\u{1}"),
    .refused(.unsupported, "a Dahua recording", "DAHUA\u{0}"),
  ]

  static let sounds: [KnownHead] = [
    .refused(.unsupported, "an MP3 file", Bytes.repeated(Bytes.mp3Frame, 4)),
    .refused(.unsupported, "an MP3 file", Bytes.id3(300) + Bytes.repeated(Bytes.mp3Frame, 4)),
    .refused(.unsupported, "a sound file with an ID3 tag", Array(Bytes.id3(100_000))),
    .refused(.unsupported, "an AAC file", Bytes.repeated(Bytes.adtsFrame, 4)),
    .refused(.unsupported, "a WAV file", "RIFF\u{1}\u{1}\u{1}\u{0}WAVEfmt "),
    .refused(.unsupported, "a FLAC file", "fLaC\u{0}"),
    .refused(.unsupported, "an AIFF file", "FORM\u{0}\u{0}\u{0}\u{9}AIFF"),
    .refused(.unsupported, "an AMR file", "#!AMR\n"),
  ]

  static let others: [KnownHead] = [
    .refused(
      .notMedia, "a ZIP archive", Array("PK".utf8) + [3, 4] + [UInt8](repeating: 0, count: 26) + [0x61]),
    .refused(
      .notMedia, "an Office document",
      Array("PK".utf8) + [3, 4] + [UInt8](repeating: 0, count: 26) + Array("[Content_Types].xml".utf8)),
    .refused(.notMedia, "a gzip file", [0x1F, 0x8B, 8, 0]),
    .refused(.notMedia, "a 7-Zip archive", [0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C]),
    .refused(.notMedia, "a tar archive", [UInt8](repeating: 0x61, count: 257) + Array("ustar".utf8)),
    .refused(.notMedia, "a PDF document", "%PDF-1.7\n"),
    .refused(
      .notMedia, "an Office document of the old kind", [0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1]),
    .refused(.notMedia, "an ELF program", [0x7F] + Array("ELF".utf8)),
    .refused(.notMedia, "a Windows program", [0x4D, 0x5A, 0x90, 0, 3, 0, 0, 0]),
    .refused(.notMedia, "a Mach-O program", [0xCF, 0xFA, 0xED, 0xFE]),
    .refused(.notMedia, "a WebAssembly module", [0, 0x61, 0x73, 0x6D, 1, 0, 0, 0]),
    .refused(.notMedia, "a script", "#!/bin/sh\n"),
    .refused(.notMedia, "an SQLite database", "SQLite format 3\u{0}"),
    .refused(.notMedia, "an AppleDouble file", [0, 5, 0x16, 7, 0, 2, 0, 0]),
    .refused(
      .notMedia, "a file that begins with nothing but zeros (an unfinished download?)",
      [UInt8](repeating: 0, count: 100_000)),
  ]
}
