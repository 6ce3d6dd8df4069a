import ReelCore

extension KnownHead {
  static let containers: [KnownHead] = atTheBeginning + behindOther

  /// Streams that FFmpeg finds after other data.
  private static let behindOther: [KnownHead] = [
    behind("the rest of a pack", [9, 0, 0, 1, 0xBA, 7, 7]),
    behind("a tag", Bytes.id3(40) + [9, 9]),
    behind("a tag that claims too much", Array(Bytes.id3(100_000).prefix(50))),
    behind("the number of AppleSingle", [0, 5, 0x16, 0, 7, 7, 7, 7]),
    .container(
      .mpegTS, "behind the header of a recorder",
      Array("TFrc".utf8) + [UInt8](repeating: 0, count: 3756)
        + Bytes.transportPackets(188, count: 20)),
  ]

  private static func behind(_ name: String, _ bytes: [UInt8]) -> KnownHead {
    .container(.mpegPS, "behind \(name)", bytes + Bytes.programStream)
  }

  private static let atTheBeginning: [KnownHead] =
    ["isom", "mp42", "iso5", "dash", "avc1", "MSNV", "XAVC", "f4v ", "M4A ", "none"].map {
      .container(.mp4, $0, Bytes.ftyp($0))
    }
    + ["M4V ", "M4VH", "M4VP"].map { .container(.m4v, $0, Bytes.ftyp($0)) }
    + ["3gp4", "3gp6", "3gr6", "3gs7", "3ge6", "3gg9"].map { .container(.threeGP, $0, Bytes.ftyp($0)) }
    + ["3g2a", "3g2c"].map { .container(.threeG2, $0, Bytes.ftyp($0)) }
    + ["wide", "moov", "mdat", "free", "skip", "pnot", "udta", "junk"].map {
      .container(.mov, "begins with \($0)", Bytes.box($0, [0, 0, 0, 0]))
    } + [
      .container(.mov, "qt", Bytes.ftyp("qt  ")),
      .container(
        .mov, "an mdat of 64-bit size", [0, 0, 0, 1] + Array("mdat".utf8) + [0, 0, 0, 1, 0, 0, 0, 0]),
      .container(.mov, "an mdat to the end", [0, 0, 0, 0] + Array("mdat".utf8) + [1, 2, 3]),
      .container(.mp4, "ftyp behind free", Bytes.box("free", [1, 2, 3]) + Bytes.ftyp("mp41")),
      .container(.mp4, "ftyp behind an unknown box", Bytes.box("abcd", [1, 2, 3]) + Bytes.ftyp("mp41")),
      .container(.mov, "moov behind styp", Bytes.box("styp", [0, 0, 0, 0]) + Bytes.box("moov")),
      .container(.mp4, "a tag before it", Bytes.id3(40) + Bytes.ftyp("isom")),
      .container(
        .mp4, "a playlist behind it", Bytes.ftyp("isom") + Array("#EXTM3U\n#EXT-X-TARGETDURATION:1\n".utf8)),
      .container(.matroska, "EBML", Bytes.ebml("matroska")),
      .container(.matroska, "EBML with padding", Bytes.ebml("matroska\0\0")),
      .container(.matroska, "EBML without DocType", [0x1A, 0x45, 0xDF, 0xA3, 0x80, 0x18, 0x53, 0x80, 0x67]),
      .container(.webm, "EBML", Bytes.ebml("webm")),
      .container(.avi, "RIFF", Array("RIFF\u{1}\u{1}\u{0}\u{0}AVI LIST".utf8)),
      .container(.flv, "with sound", Array("FLV".utf8) + [1, 5, 0, 0, 0, 9]),
      .container(.ogg, "a page", Array("OggS".utf8) + [0, 2]),
      .container(
        .asf, "its GUID",
        [0x30, 0x26, 0xB2, 0x75, 0x8E, 0x66, 0xCF, 0x11, 0xA6, 0xD9, 0x00, 0xAA, 0x00, 0x62, 0xCE, 0x6C]),
      .container(.mxf, "at the beginning", Bytes.mxfKey),
      .container(.mxf, "behind 64 KiB", [UInt8](repeating: 0x80, count: 65_536) + Bytes.mxfKey),
      .container(.mxf, "behind text", Array("A run-in may be text.".utf8) + Bytes.mxfKey),
      .container(
        .mpegPS, "MPEG-2", [0, 0, 1, 0xBA, 0x44, 0, 4, 0, 4, 1, 0, 0, 3, 0xF8, 0, 0, 1, 0xBB, 0, 0]),
      .container(
        .mpegPS, "stuffed",
        [0, 0, 1, 0xBA, 0x44, 0, 4, 0, 4, 1, 0, 0, 3, 0xFA, 0xFF, 0xFF, 0, 0, 1, 0xE0, 0, 0]),
      .container(.mpegPS, "MPEG-1", [0, 0, 1, 0xBA, 0x21, 0, 1, 0, 1, 0x80, 0, 1, 0, 0, 1, 0xC0, 0, 0]),
      .container(.mpegTS, "188", Bytes.transportPackets(188, count: 20)),
      .container(.mpegTS, "188, three packets", Bytes.transportPackets(188, count: 3)),
      .container(
        .mpegTS, "188, cut in front", Array(Bytes.transportPackets(188, count: 20).dropFirst(57))),
      .container(.mpegTS, "204", Bytes.transportPackets(204, count: 20)),
      .container(.m2ts, "192", Bytes.transportPackets(192, prefix: 4, count: 20)),
      .container(
        .m2ts, "192, cut in front",
        Array(Bytes.transportPackets(192, prefix: 4, count: 20).dropFirst(99))),
    ]
}
