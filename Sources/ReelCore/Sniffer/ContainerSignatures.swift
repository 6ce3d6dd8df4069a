/// Containers that one pattern tells, as FFmpeg's demuxers know them
/// (`libavformat/{avidec,flvdec,oggdec,asf}.c`), and MXF whose partition pack (SMPTE ST 377-1) stands at the
/// very beginning.
let containerSignatures: [Signature] = [
  Signature(.text("RIFF"), .text("AVI ", at: 8), means: .container(.avi)),
  Signature(.text("RIFF"), .text("AVI\u{19}", at: 8), means: .container(.avi)),
  Signature(.text("RIFF"), .text("AVIX", at: 8), means: .container(.avi)),
  Signature(.text("FLV\u{1}"), .bytes(0, at: 5), means: .container(.flv)),
  Signature(.text("OggS\u{0}"), means: .container(.ogg)),
  Signature(
    .bytes(0x30, 0x26, 0xB2, 0x75, 0x8E, 0x66, 0xCF, 0x11, 0xA6, 0xD9, 0x00, 0xAA, 0x00, 0x62, 0xCE, 0x6C),
    means: .container(.asf)),
  Signature(.init(offset: 0, bytes: MaterialExchange.headerPartition), means: .container(.mxf)),
]
