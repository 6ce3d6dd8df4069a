/// Containers that a single pattern identifies, as in FFmpeg's demuxers
/// (`libavformat/{avidec,flvdec,oggdec,asf}.c`), and MXF files that begin with their partition pack (SMPTE ST
/// 377-1).
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

/// Video that is not ingested and that a single pattern identifies: raw streams and unsupported containers.
let streamSignatures: [Signature] = [
  Signature(.text("DKIF\u{0}\u{0}"), refuse: .otherContainer("an IVF file")),
  Signature(.text("YUV4MPEG2 "), refuse: .rawStream("a YUV4MPEG stream")),
  Signature(.bytes(0, 0, 1, 0xB3), refuse: .rawStream("a raw MPEG video stream")),
  Signature(.bytes(0, 0, 1, 0xB0), refuse: .rawStream("a raw MPEG-4 video stream")),
  Signature(.bytes(0, 0, 1, 0xB5), refuse: .rawStream("a raw MPEG-4 video stream")),
  Signature(.bytes(0, 0, 1, 0xB6), refuse: .rawStream("a raw MPEG-4 video stream")),
  Signature(.bytes(0, 0, 1, 0x0F), refuse: .rawStream("a raw VC-1 stream")),
  Signature(.text("BBCD"), .bytes(0, at: 4), refuse: .rawStream("a raw Dirac stream")),
  Signature(.bytes(0x12, 0x00, 0x0A), refuse: .rawStream("a raw AV1 stream")),
  Signature(.bytes(0x1F, 0x07, 0x00), refuse: .rawStream("a raw DV stream")),
  Signature(.text("nut/multimedia container\u{0}"), refuse: .otherContainer("a NUT file")),
  Signature(.text(".RMF\u{0}"), refuse: .otherContainer("a RealMedia file")),
  Signature(.text("DHAV"), refuse: .otherContainer("a Dahua recording")),
  Signature(.text("DAHUA"), refuse: .otherContainer("a Dahua recording")),
  Signature(.text("NSVf"), refuse: .otherContainer("a Nullsoft video")),
  Signature(.text("NSVs"), refuse: .otherContainer("a Nullsoft video")),
  Signature(.text("BIKi"), refuse: .otherContainer("a Bink video")),
  Signature(.text("BIKb"), refuse: .otherContainer("a Bink video")),
  Signature(.text("KB2"), .bytes(0, at: 7), refuse: .otherContainer("a Bink video")),
  Signature(.text("SMK2"), refuse: .otherContainer("a Smacker video")),
  Signature(.text("SMK4"), refuse: .otherContainer("a Smacker video")),
  Signature(.text("RED1", at: 4), refuse: .otherContainer("a Redcode raw video")),
  Signature(.text("RED2", at: 4), refuse: .otherContainer("a Redcode raw video")),
  Signature(.text("MLVI"), refuse: .otherContainer("a Magic Lantern raw video")),
  Signature(.text("RIFF"), .text("CDXA", at: 8), refuse: .otherContainer("a Video CD track")),
  Signature(.text("RIFF"), .text("AMV ", at: 8), refuse: .otherContainer("an AMV video")),
  Signature(.text("FWS"), .bytes(0, at: 7), refuse: .otherContainer("a Flash movie")),
  Signature(.text("CWS"), .bytes(0, at: 7), refuse: .otherContainer("a Flash movie")),
  Signature(.bytes(0, 0, 0, 0, 1, 0xBC), refuse: .otherContainer("a GXF file")),
  Signature(
    .bytes(0xB7, 0xD8, 0x00, 0x20, 0x37, 0x49, 0xDA, 0x11, 0xA6, 0x4E, 0x00, 0x07, 0xE9, 0x5E, 0xAD, 0x8D),
    refuse: .otherContainer("a Windows TV recording")),
]

let soundSignatures: [Signature] = [
  Signature(.text("RIFF"), .text("WAVE", at: 8), refuse: .sound("a WAV file")),
  Signature(.text("RF64"), .text("WAVE", at: 8), refuse: .sound("a WAV file")),
  Signature(.text("BW64"), .text("WAVE", at: 8), refuse: .sound("a WAV file")),
  Signature(.text("RIFX"), .text("WAVE", at: 8), refuse: .sound("a WAV file")),
  Signature(.text("riff"), .bytes(0x2E, 0x91, 0xCF, 0x11, at: 4), refuse: .sound("a Wave64 file")),
  Signature(.text("RIFF"), .text("RMID", at: 8), refuse: .sound("a MIDI file")),
  Signature(.text("MThd"), .bytes(0, 0, 0, 6, at: 4), refuse: .sound("a MIDI file")),
  Signature(.text("FORM"), .text("AIFF", at: 8), refuse: .sound("an AIFF file")),
  Signature(.text("FORM"), .text("AIFC", at: 8), refuse: .sound("an AIFF file")),
  Signature(.text("FORM"), .text("8SVX", at: 8), refuse: .sound("an 8SVX file")),
  Signature(.text("fLaC"), refuse: .sound("a FLAC file")),
  Signature(.text("#!AMR"), refuse: .sound("an AMR file")),
  Signature(.text("caff"), .bytes(0, 1, at: 4), refuse: .sound("a Core Audio file")),
  Signature(.text("MAC "), .bytes(0x0F, at: 5), refuse: .sound("a Monkey's Audio file")),
  Signature(.text("wvpk"), refuse: .sound("a WavPack file")),
  Signature(.text("TTA1"), .bytes(0, at: 5), refuse: .sound("a TTA file")),
  Signature(.text("MPCK"), refuse: .sound("a Musepack file")),
  Signature(.text("MP+\u{7}"), refuse: .sound("a Musepack file")),
  Signature(.text("DSD \u{1C}\u{0}"), refuse: .sound("a DSD file")),
  Signature(.text("ADIF"), refuse: .sound("an AAC file")),
  Signature(.text(".snd\u{0}"), refuse: .sound("an AU file")),
  Signature(.text(".ra"), .bytes(0xFD, at: 3), refuse: .sound("a RealAudio file")),
  Signature(.text("Creative Voice File"), refuse: .sound("a VOC file")),
  Signature(.bytes(0x0B, 0x77), refuse: .sound("an AC-3 file")),
  Signature(.bytes(0x7F, 0xFE, 0x80, 0x01), refuse: .sound("a DTS file")),
  Signature(.bytes(0xFE, 0x7F, 0x01, 0x80), refuse: .sound("a DTS file")),
]

let pictureSignatures: [Signature] = [
  Signature(.bytes(0xFF, 0xD8, 0xFF), refuse: .picture("a JPEG picture")),
  Signature(.bytes(0x89), .text("PNG\r\n\u{1A}\n", at: 1), refuse: .picture("a PNG picture")),
  Signature(.bytes(0x8A), .text("MNG\r\n\u{1A}\n", at: 1), refuse: .picture("an MNG picture")),
  Signature(.text("GIF87a"), refuse: .picture("a GIF picture")),
  Signature(.text("GIF89a"), refuse: .picture("a GIF picture")),
  Signature(.text("RIFF"), .text("WEBP", at: 8), refuse: .picture("a WebP picture")),
  Signature(.text("RIFF"), .text("ACON", at: 8), refuse: .picture("an animated cursor")),
  Signature(
    .text("BM"), .bytes(0, 0, 0, 0, at: 6), .bytes(0, 0, 0, at: 15), refuse: .picture("a BMP picture")),
  Signature(.text("II*\u{0}"), refuse: .picture("a TIFF picture")),
  Signature(.text("MM\u{0}*"), refuse: .picture("a TIFF picture")),
  Signature(.text("II+\u{0}"), refuse: .picture("a TIFF picture")),
  Signature(.text("MM\u{0}+"), refuse: .picture("a TIFF picture")),
  Signature(.text("IIRO"), refuse: .picture("an Olympus raw picture")),
  Signature(.text("IIU\u{0}"), refuse: .picture("a Panasonic raw picture")),
  Signature(.text("FUJIFILMCCD-RAW"), refuse: .picture("a Fujifilm raw picture")),
  Signature(.bytes(0xFF, 0x4F, 0xFF, 0x51), refuse: .picture("a JPEG 2000 picture")),
  Signature(.bytes(0xFF, 0x0A), refuse: .picture("a JPEG XL picture")),
  Signature(.text("8BPS"), refuse: .picture("a Photoshop picture")),
  Signature(.text("gimp xcf"), refuse: .picture("a GIMP picture")),
  Signature(.text("SDPX"), refuse: .picture("a DPX picture")),
  Signature(.text("XPDS"), refuse: .picture("a DPX picture")),
  Signature(.bytes(0x76, 0x2F, 0x31, 0x01), refuse: .picture("an OpenEXR picture")),
  Signature(.text("qoif\u{0}"), refuse: .picture("a QOI picture")),
  Signature(.text("BPG"), .bytes(0xFB, at: 3), refuse: .picture("a BPG picture")),
  Signature(.text("DDS |\u{0}\u{0}\u{0}"), refuse: .picture("a DDS picture")),
  Signature(.text("icns\u{0}"), refuse: .picture("an icon")),
  Signature(.text("FORM"), .text("ILBM", at: 8), refuse: .picture("an IFF picture")),
  Signature(.bytes(0x59, 0xA6, 0x6A, 0x95), refuse: .picture("a Sun raster picture")),
  Signature(.bytes(0x0A, 0x05, 0x01, 0x08), refuse: .picture("a PCX picture")),
  Signature(.bytes(0, 0, 1, 0), .bytes(0, at: 5), .bytes(0, at: 9), refuse: .picture("an icon")),
  Signature(.bytes(0, 0, 2, 0), .bytes(0, at: 5), .bytes(0, at: 9), refuse: .picture("a cursor")),
  Signature(.text("P4\n"), refuse: .picture("a PNM picture")),
  Signature(.text("P5\n"), refuse: .picture("a PNM picture")),
  Signature(.text("P6\n"), refuse: .picture("a PNM picture")),
  Signature(.text("P7\nWIDTH"), refuse: .picture("a PAM picture")),
]

let documentSignatures: [Signature] = [
  Signature(.text("%PDF-"), refuse: .notMedia("a PDF document")),
  Signature(
    .bytes(0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1),
    refuse: .notMedia("an Office document of the old kind")),
  Signature(.text(#"{\rtf"#), refuse: .notMedia("an RTF document")),
  Signature(.text("%!PS"), refuse: .notMedia("a PostScript document")),
  Signature(.text("AT&TFORM"), refuse: .notMedia("a DjVu document")),
  Signature(.text("OTTO\u{0}"), refuse: .notMedia("a font")),
  Signature(.bytes(0, 1, 0, 0, 0), refuse: .notMedia("a font")),
  Signature(.text("ttcf\u{0}"), refuse: .notMedia("a font")),
  Signature(.text("wOFF"), refuse: .notMedia("a font")),
  Signature(.text("wOF2"), refuse: .notMedia("a font")),
]

/// Archives, compressed files and disk images that a single pattern identifies.
let archiveSignatures: [Signature] = [
  Signature(.text("7z"), .bytes(0xBC, 0xAF, 0x27, 0x1C, at: 2), refuse: .notMedia("a 7-Zip archive")),
  Signature(.text("Rar!\u{1A}\u{7}"), refuse: .notMedia("a RAR archive")),
  Signature(.bytes(0x1F, 0x8B, 0x08), refuse: .notMedia("a gzip file")),
  Signature(.bytes(0x1F, 0x9D), refuse: .notMedia("a compressed file")),
  Signature(.text("BZh"), .text("1AY&SY", at: 4), refuse: .notMedia("a bzip2 file")),
  Signature(.bytes(0xFD), .text("7zXZ\u{0}", at: 1), refuse: .notMedia("an xz file")),
  Signature(.bytes(0x28, 0xB5, 0x2F, 0xFD), refuse: .notMedia("a Zstandard file")),
  Signature(.bytes(0x04, 0x22, 0x4D, 0x18), refuse: .notMedia("an LZ4 file")),
  Signature(.text("LZIP\u{1}"), refuse: .notMedia("an lzip file")),
  Signature(.bytes(0x5D, 0, 0), .bytes(0xFF, 0xFF, at: 5), refuse: .notMedia("an LZMA file")),
  Signature(.text("ustar", at: 257), refuse: .notMedia("a tar archive")),
  Signature(.text("!<arch>\n"), refuse: .notMedia("an ar archive")),
  Signature(.text("070701"), refuse: .notMedia("a cpio archive")),
  Signature(.text("070707"), refuse: .notMedia("a cpio archive")),
  Signature(.bytes(0xED, 0xAB, 0xEE, 0xDB), refuse: .notMedia("an RPM package")),
  Signature(.text("MSCF\u{0}\u{0}\u{0}\u{0}"), refuse: .notMedia("a cabinet archive")),
  Signature(.text("xar!\u{0}"), refuse: .notMedia("a xar archive")),
  Signature(.text("PACK\u{0}\u{0}\u{0}"), refuse: .notMedia("a Git pack")),
  Signature(.text("# v2 git bundle"), refuse: .notMedia("a Git bundle")),
  Signature(.text("hsqs"), refuse: .notMedia("a SquashFS image")),
  Signature(.text("QFI"), .bytes(0xFB, at: 3), refuse: .notMedia("an image of a disk")),
  Signature(.text("KDMV"), .bytes(0, 0, 0, at: 5), refuse: .notMedia("an image of a disk")),
  Signature(.text("CD001", at: 32_769), refuse: .notMedia("an image of a disc")),
]

/// ZIP archives, including documents and programs in ZIP form (APPNOTE.TXT, 4.3.7).
enum Zip {
  static func verdict(_ head: FilePrefix) -> SniffVerdict? {
    guard head.has("PK\u{3}\u{4}") || head.has("PK\u{5}\u{6}") || head.has("PK\u{7}\u{8}") else { return nil }
    let found = kinds.first { head.has(Array($0.firstEntry.utf8), at: 30) }?.found
    return Refusal.notMedia(found ?? "a ZIP archive").verdict
  }

  /// Kinds by the name of the first entry, which follows a header of 30 bytes.
  private static let kinds: [(firstEntry: String, found: String)] = [
    ("mimetypeapplication/epub+zip", "an EPUB book"),
    ("mimetypeapplication/vnd.oasis", "an OpenDocument file"),
    ("[Content_Types].xml", "an Office document"),
    ("_rels/", "an Office document"),
    ("word/", "an Office document"),
    ("xl/", "an Office document"),
    ("ppt/", "an Office document"),
    ("META-INF/", "a Java archive"),
    ("AndroidManifest.xml", "an Android app"),
  ]
}

let programSignatures: [Signature] = [
  Signature(.bytes(0x7F), .text("ELF", at: 1), refuse: .notMedia("an ELF program")),
  Signature(.bytes(0xFE, 0xED, 0xFA, 0xCE), refuse: .notMedia("a Mach-O program")),
  Signature(.bytes(0xFE, 0xED, 0xFA, 0xCF), refuse: .notMedia("a Mach-O program")),
  Signature(.bytes(0xCE, 0xFA, 0xED, 0xFE), refuse: .notMedia("a Mach-O program")),
  Signature(.bytes(0xCF, 0xFA, 0xED, 0xFE), refuse: .notMedia("a Mach-O program")),
  Signature(.bytes(0xCA, 0xFE, 0xBA, 0xBE), refuse: .notMedia("a Java class or a Mach-O program")),
  Signature(.bytes(0, 0x61, 0x73, 0x6D), refuse: .notMedia("a WebAssembly module")),
  Signature(.text("dex\n"), refuse: .notMedia("an Android program")),
  Signature(.bytes(0x42, 0x43, 0xC0, 0xDE), refuse: .notMedia("LLVM bitcode")),
  // The two letters alone could begin a text, so a zero must follow as the high byte of one of the first three
  // header fields.
  Signature(.text("MZ"), .bytes(0, at: 3), refuse: .notMedia("a Windows program")),
  Signature(.text("MZ"), .bytes(0, at: 5), refuse: .notMedia("a Windows program")),
  Signature(.text("MZ"), .bytes(0, at: 7), refuse: .notMedia("a Windows program")),
  Signature(.text("#!"), refuse: .notMedia("a script")),
]

let dataSignatures: [Signature] = [
  Signature(.text("SQLite format 3\u{0}"), refuse: .notMedia("an SQLite database")),
  Signature(.bytes(0, 5, 0x16, 7), refuse: .notMedia("an AppleDouble file")),
  Signature(.bytes(0, 5, 0x16, 0, 0), .bytes(0, 0, at: 6), refuse: .notMedia("an AppleSingle file")),
  Signature(.bytes(0, 0, 0, 1), .text("Bud1", at: 4), refuse: .notMedia("a folder's .DS_Store")),
  Signature(.text("bplist0"), refuse: .notMedia("a property list")),
  Signature(.bytes(0x89), .text("HDF\r\n\u{1A}\n", at: 1), refuse: .notMedia("an HDF5 file")),
  Signature(.text("PAR1\u{15}"), refuse: .notMedia("a Parquet file")),
  Signature(.bytes(0xD4, 0xC3, 0xB2, 0xA1), refuse: .notMedia("a network capture")),
  Signature(.bytes(0xA1, 0xB2, 0xC3, 0xD4), refuse: .notMedia("a network capture")),
  Signature(.bytes(0x0A, 0x0D, 0x0D, 0x0A), refuse: .notMedia("a network capture")),
  Signature(.text("Salted__"), refuse: .notMedia("an encrypted file")),
  Signature(.text("age-encryption.org/"), refuse: .notMedia("an encrypted file")),
]
