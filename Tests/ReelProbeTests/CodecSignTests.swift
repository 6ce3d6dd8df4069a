import CFFmpeg
import Testing

@testable import ReelProbe

/// Start marks of codecs under their own and under other names.
struct CodecSignTests {
  private static let h264 = bytes(
    "000000016742001eab40501ed35010106020" + "0000000168ce3c80" + "00000165888400")
  private static let h264Record = bytes("0142001effe1000e6742001eab40501ed3501010602001000428ce3c80")
  private static let hevcSet = bytes(
    "42010102200000030090000003000003001ea024839c92365959ae4e578835091009040000030004000003006420")
  private static let hevc =
    bytes("0000000140010c01") + [0, 0, 1] + hevcSet + bytes("0000014401c172b4" + "0000012601af15")
  private static let hevcRecord =
    [1] + [UInt8](repeating: 0, count: 20) + [3, 1, 33, 0, 1, 0, UInt8(hevcSet.count)] + hevcSet
  private static let mpeg2 = bytes(
    "000001b30a006013ffffe018" + "000001b5148a00010000" + "000001b800080040" + "00000100000ffff8")
  private static let mpeg4 = bytes("000001b001000001b58913000001000000012000c48d8800cd")
  private static let av1 = bytes("0a0b000000043cffbcdaf9004032c81f14")
  private static let theora = [0, 42, 0x80] + Array("theora".utf8) + [3, 2, 1]
  private static let jpeg = bytes("ffd8ffe000104a46494600010200000100010000")

  struct Example: Sendable {
    let claimed: AVCodecID
    let packet: [UInt8]
    var record: [UInt8] = []
    let other: AVCodecID?
  }

  @Test(arguments: [
    Example(claimed: AV_CODEC_ID_H264, packet: h264, other: nil),
    Example(claimed: AV_CODEC_ID_HEVC, packet: h264, other: AV_CODEC_ID_H264),
    Example(claimed: AV_CODEC_ID_MPEG2VIDEO, packet: h264, other: AV_CODEC_ID_H264),
    Example(claimed: AV_CODEC_ID_MPEG4, packet: h264, other: AV_CODEC_ID_H264),
    Example(claimed: AV_CODEC_ID_VC1, packet: h264, other: AV_CODEC_ID_H264),
    Example(claimed: AV_CODEC_ID_HEVC, packet: hevc, other: nil),
    Example(claimed: AV_CODEC_ID_H264, packet: hevc, other: AV_CODEC_ID_HEVC),
    Example(claimed: AV_CODEC_ID_MPEG2VIDEO, packet: mpeg2, other: nil),
    Example(claimed: AV_CODEC_ID_MPEG1VIDEO, packet: mpeg2, other: nil),
    Example(claimed: AV_CODEC_ID_H264, packet: mpeg2, other: AV_CODEC_ID_MPEG2VIDEO),
    Example(claimed: AV_CODEC_ID_MPEG4, packet: mpeg4, other: nil),
    Example(claimed: AV_CODEC_ID_MPEG2VIDEO, packet: mpeg4, other: AV_CODEC_ID_MPEG4),
    Example(claimed: AV_CODEC_ID_H264, packet: jpeg, other: AV_CODEC_ID_MJPEG),
    Example(claimed: AV_CODEC_ID_MJPEG, packet: jpeg, other: nil),
    Example(claimed: AV_CODEC_ID_MPEG4, packet: mpeg2, other: AV_CODEC_ID_MPEG2VIDEO),
    Example(claimed: AV_CODEC_ID_MPEG4, packet: bytes("000001b300100000000001b6"), other: nil),
    // A movie's index in place of its pictures.
    Example(
      claimed: AV_CODEC_ID_AV1, packet: bytes("0000006c6d766864"), record: [0x81, 0, 0, 0] + av1,
      other: AV_CODEC_ID_NONE),
    // DNxHD, DNxHR of 2160 and of 4320 lines, and a length that no header has.
    Example(claimed: AV_CODEC_ID_DNXHD, packet: bytes("0000028001010008"), other: nil),
    Example(claimed: AV_CODEC_ID_DNXHD, packet: bytes("0000038c030180a0"), other: nil),
    Example(claimed: AV_CODEC_ID_DNXHD, packet: bytes("000005a8030180a0"), other: nil),
    Example(claimed: AV_CODEC_ID_DNXHD, packet: bytes("0000018c030180a0"), other: AV_CODEC_ID_NONE),
    Example(claimed: AV_CODEC_ID_MSMPEG4V3, packet: mpeg4, other: AV_CODEC_ID_MPEG4),
    Example(claimed: AV_CODEC_ID_WMV2, packet: mpeg4, other: AV_CODEC_ID_MPEG4),
    Example(claimed: AV_CODEC_ID_DVVIDEO, packet: mpeg4, other: AV_CODEC_ID_MPEG4),
    Example(claimed: AV_CODEC_ID_CINEPAK, packet: mpeg4, other: AV_CODEC_ID_MPEG4),
    // The length after the flags, with and without padding.
    Example(claimed: AV_CODEC_ID_CINEPAK, packet: [0, 0, 1] + [UInt8](repeating: 4, count: 257), other: nil),
    Example(claimed: AV_CODEC_ID_CINEPAK, packet: [0, 0, 1] + [UInt8](repeating: 4, count: 258), other: nil),
    Example(claimed: AV_CODEC_ID_MSMPEG4V3, packet: bytes("8540001f8b2a9c11"), other: nil),
    // No known mark.
    Example(claimed: AV_CODEC_ID_VP9, packet: bytes("000000056588840021"), other: AV_CODEC_ID_NONE),
    Example(claimed: AV_CODEC_ID_THEORA, packet: bytes("000000056588840021"), other: AV_CODEC_ID_NONE),
    Example(claimed: AV_CODEC_ID_THEORA, packet: bytes("3000ff0112345678"), record: theora, other: nil),
    Example(claimed: AV_CODEC_ID_VP9, packet: bytes("0000000000000000"), other: nil),
    Example(claimed: AV_CODEC_ID_H264, packet: bytes("abababababababab"), other: nil),
    Example(claimed: AV_CODEC_ID_AV1, packet: bytes("12009d012a400130"), other: AV_CODEC_ID_NONE),
    Example(claimed: AV_CODEC_ID_AV1, packet: av1, other: nil),
    Example(claimed: AV_CODEC_ID_VP9, packet: av1, other: AV_CODEC_ID_AV1),
    Example(
      claimed: AV_CODEC_ID_AV1, packet: bytes("1200320100000000"), record: [0x81, 0, 0, 0] + av1, other: nil),
    Example(
      claimed: AV_CODEC_ID_PRORES, packet: bytes("00000020") + Array("icpf".utf8) + jpeg + jpeg,
      other: AV_CODEC_ID_NONE),
    Example(
      claimed: AV_CODEC_ID_MPEG2VIDEO, packet: bytes("00000120") + mpeg4, other: AV_CODEC_ID_NONE),
    // With records: each picture follows its length.
    Example(
      claimed: AV_CODEC_ID_H264, packet: bytes("000000052801af1d42"), record: hevcRecord,
      other: AV_CODEC_ID_HEVC),
    Example(claimed: AV_CODEC_ID_HEVC, packet: bytes("000000052801af1d42"), record: hevcRecord, other: nil),
    Example(
      claimed: AV_CODEC_ID_H263, packet: bytes("000000056588840021"), record: h264Record,
      other: AV_CODEC_ID_H264),
    Example(claimed: AV_CODEC_ID_H264, packet: bytes("000000056588840021"), record: h264Record, other: nil),
    // A second unit that is longer than what is left, padding, and what is too short to be a unit.
    Example(
      claimed: AV_CODEC_ID_H264, packet: bytes("000000056588840021" + "0000000641abcdef"), record: h264Record,
      other: AV_CODEC_ID_NONE),
    Example(
      claimed: AV_CODEC_ID_H264, packet: bytes("000000056588840021" + "0000000000000000"), record: h264Record,
      other: nil),
    Example(
      claimed: AV_CODEC_ID_HEVC, packet: bytes("000000052801af1d42" + "ffffff"), record: hevcRecord,
      other: nil),
    // The first tag of an FLV, without the bytes that FFmpeg strips.
    Example(claimed: AV_CODEC_ID_FLV1, packet: [0, 0, 0, 0] + h264Record, other: AV_CODEC_ID_H264),
    Example(claimed: AV_CODEC_ID_VP6F, packet: [0, 0, 0] + h264Record, other: AV_CODEC_ID_H264),
    Example(claimed: AV_CODEC_ID_FLV1, packet: bytes("0000840007812d0212"), other: nil),
    Example(claimed: AV_CODEC_ID_VP6F, packet: bytes("784606090c0a0c00"), other: nil),
  ]) func marks(example: Example) {
    let found = CodecSign.other(than: example.claimed, packet: example.packet, record: example.record)
    #expect(found == example.other)
  }

  @Test func twoFramesOfADTSAreAAC() {
    let frame = Self.bytes("fff14c40017ffc") + [1, 2, 3, 4]
    for claimed in [AV_CODEC_ID_MP3, AV_CODEC_ID_AC3] {
      #expect(CodecSign.otherSound(than: claimed, packet: frame + frame) == AV_CODEC_ID_AAC)
      #expect(CodecSign.otherSound(than: claimed, packet: frame) == AV_CODEC_ID_AAC)
      #expect(CodecSign.otherSound(than: claimed, packet: frame + [0]) == nil)
      #expect(CodecSign.otherSound(than: claimed, packet: frame + [0] + frame) == nil)
    }
    #expect(CodecSign.otherSound(than: AV_CODEC_ID_AAC, packet: frame + frame) == nil)
    #expect(
      CodecSign.otherSound(than: AV_CODEC_ID_MP3, packet: [0xFF, 0xFB, 0x90, 0] + frame + frame) == nil)
  }

  @Test(arguments: [
    ("0b77480d0c402f842bc1c77aaf5e1be7", AV_CODEC_ID_AC3),
    ("0b7700bf3287c00021064060e3bd57af", AV_CODEC_ID_EAC3),
    ("7ffe8001fc3c75b0b6c001380003ef7f", AV_CODEC_ID_DTS),
  ])
  func longMarksAreTheirCodecs(frame: String, codec: AVCodecID) {
    let packet = Self.bytes(frame) + [UInt8](repeating: 0x55, count: 64)
    for claimed in [AV_CODEC_ID_MP1, AV_CODEC_ID_MP3, AV_CODEC_ID_AC3, AV_CODEC_ID_DTS] {
      let isOwn = SoundHeader(claimed, frame: packet) != nil
      #expect(CodecSign.otherSound(than: claimed, packet: packet) == (isOwn ? nil : codec))
    }
  }

  /// Codecs whose frames begin without a mark.
  @Test(
    arguments: [
      ("fffb90c400000000", AV_CODEC_ID_MP3), ("fffd84c400000000", AV_CODEC_ID_MP2),
      ("fff8c9a800a9ff00", AV_CODEC_ID_FLAC), ("0b77480d0c402f842bc1c77aaf5e1be7", AV_CODEC_ID_AC3),
      ("de02004c61766335", nil), ("2110050020a41bff", nil), ("f8b4afcaaae5b5b0", nil),
      ("20000000000f0c01", nil),
    ] as [(String, AVCodecID?)])
  func marksUnderTheNameOfCodecsWithout(frame: String, codec: AVCodecID?) {
    for claimed in [AV_CODEC_ID_AAC, AV_CODEC_ID_OPUS, AV_CODEC_ID_ALAC, AV_CODEC_ID_FLAC] {
      let isOwn = claimed == codec
      #expect(CodecSign.otherSound(than: claimed, packet: Self.bytes(frame)) == (isOwn ? nil : codec))
      // A long mark counts under any name.
      #expect(
        CodecSign.otherSound(than: claimed, packet: Self.bytes(frame), isFramed: true)
          == (codec == AV_CODEC_ID_AC3 ? codec : nil))
    }
    #expect(
      CodecSign.isMissing(inSound: Self.bytes(frame), of: AV_CODEC_ID_FLAC) == (codec != AV_CODEC_ID_FLAC))
  }

  private static func bytes(_ hex: String) -> [UInt8] {
    let digits = Array(hex).compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }
}
