import CFFmpeg
import ReelCore
import ReelTestSupport
import Testing

@testable import ReelProbe

struct BitstreamHeaderTests {
  /// From real encoders: x264, and the camera of an iPhone 4.
  @Test func sequenceParametersAreRead() throws {
    let phone = try #require(H264SequenceParameters(unit: bytes("6742001eab40501ed35010106020")))
    #expect((phone.width, phone.height) == (640, 480))
    #expect(phone.usability.pixel == nil)
    #expect(phone.usability.fullRange == false)
    #expect(phone.usability.colour == VideoUsability.Colour(primaries: 1, transfer: 1, matrix: 6))
    let square = try #require(
      H264SequenceParameters(unit: bytes("6742801e965201407b6022000007d20001770128")))
    #expect((square.width, square.height) == (640, 480))
    #expect(square.usability.pixel?.isSquare == true)
    #expect(square.usability.colour == nil)
  }

  /// In 4:2:0, and in 4:4:4, which only a decoder reports.
  @Test(arguments: [SmallAV1.record, [0x81, 0x20, 0, 0] + SmallAV1.sequence(profile: 1)])
  func frameOfAV1MayBeSmaller(record: [UInt8]) throws {
    let frame = [0x12, 0x00] + record.dropFirst(4) + SmallAV1.picture
    // The container states the size of a frame, or that of the sequence.
    for (width, height, warnings) in [(48, 32, []), (64, 64, [.sizeMismatch])]
      as [(Int, Int, [MediaWarning.Code])]
    {
      let file = SmallMatroska(width: width, height: height, codec: ("V_AV1", record, frame))
      for ways in [FFmpegReader.quickWays, [.full], [.thorough]] {
        let open = try #require(OpenFile(holding: file.bytes))
        let media = try open.read(as: .matroska, by: ways).media
        #expect(media.video?.storedWidth == 48 && media.video?.storedHeight == 32, "\(ways)")
        #expect(media.warnings.map(\.code) == warnings, "\(ways) \(media.warnings)")
      }
    }
  }

  /// From x265: 10 bits, scaling lists, three temporal layers, pixels twice as wide as high, PQ.
  @Test func hevcSequenceParametersAreRead() throws {
    let set = try #require(
      HEVCSequenceParameters(
        unit: bytes(
          "42010102200000030090000003000003001ea024839c92365959ae4e578835091009040000030004000003006420")))
    #expect((set.width, set.height) == (66, 50))
    #expect(set.usability.pixel?.description == "2:1")
    #expect(set.usability.fullRange == false)
    #expect(set.usability.colour == VideoUsability.Colour(primaries: 9, transfer: 16, matrix: 9))
    var generator = SplitMix64(seed: 9)
    for _ in 0..<5000 {
      var noisy = bytes(
        "42010102200000030090000003000003001ea024839c92365959ae4e578835091009040000030004000003006420")
      noisy[Int.random(in: 2..<noisy.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
      _ = HEVCSequenceParameters(unit: noisy.prefix(Int.random(in: 0...noisy.count, using: &generator)))
    }
  }

  @Test func everyPrefixOfAParameterSetIsRefusedOrRead() {
    let whole = bytes("6742001eab40501ed35010106020")
    for length in 0..<6 { #expect(H264SequenceParameters(unit: whole.prefix(length)) == nil) }
    var generator = SplitMix64(seed: 5)
    for _ in 0..<5000 {
      let noise = (0..<Int.random(in: 0...60, using: &generator)).map { _ in
        UInt8.random(in: 0...255, using: &generator)
      }
      _ = H264SequenceParameters(
        unit: [0x67, [66, 100, 110, 244].randomElement(using: &generator) ?? 66] + noise)
    }
  }

  @Test(arguments: [("80", 0), ("40", 1), ("60", 2), ("20", 3), ("38", 6), ("0880", 16)])
  func expGolombNumbersAreRead(hex: String, number: Int) {
    var reader = BitReader(escaped: bytes(hex))
    #expect(reader.unsigned() == number)
  }

  @Test func emulationPreventionIsRemoved() {
    var end = BitReader([0xFF])
    #expect((0..<8).map { _ in end.unsigned() } == Array(repeating: 0, count: 8))
    #expect(end.unsigned() == nil && end.signed() == nil && !end.skipNumbers(1))
    var reader = BitReader(escaped: [0, 0, 3, 1, 0, 0, 3, 0, 0, 3])
    #expect(reader.bits(32) == 0x0000_0100)
    #expect(reader.bits(24) == 0)
    #expect(reader.bits(1) == nil)
  }

  @Test func unitsEndWhereTheirLengthLies() {
    let sample: [UInt8] = [0, 0, 0, 2, 0x65, 1, 0, 0, 0, 9, 0x65]
    #expect(Array(LengthPrefixedUnits(sample, lengthSize: 4)) == [[0x65, 1]])
    #expect(Array(LengthPrefixedUnits([0, 0, 0, 0, 1], lengthSize: 4)).isEmpty)
    // A reserved value that players accept.
    let record = bytes("0142001efee1000e6742001eab40501ed3501010602001000428ce3c80")
    let size = AVCConfiguration(record)?.lengthSize ?? 0
    #expect(
      Array(LengthPrefixedUnits([0, 0, 2, 0x65, 1, 0, 0, 1, 6], lengthSize: size)) == [[0x65, 1], [6]])
  }

  @Test func aRecordThatIsCutIsNone() {
    let record = bytes("0142001effe1000e6742001eab40501ed3501010602001000428ce3c80")
    let configuration = AVCConfiguration(record)
    #expect(configuration?.lengthSize == 4)
    #expect(configuration?.sequenceParameterSets == [bytes("6742001eab40501ed35010106020")])
    for length in 0..<21 { #expect(AVCConfiguration(Array(record.prefix(length))) == nil) }
  }

  @Test func aMessageThatOverrulesTheTransferIsSeen() {
    #expect(SupplementalMessages([6, 5, 2, 0, 0, 147, 1, 18, 0x80]).overruleTransfer)
    #expect(!SupplementalMessages([6, 5, 2, 0, 147, 0x80]).overruleTransfer)
    #expect(!SupplementalMessages([6]).overruleTransfer)
    #expect(SupplementalMessages([6, 5, 2, 0, 0, 147, 1, 18, 0x80]).preferredTransfer == 18)
    #expect(SupplementalMessages([6, 147, 0, 18, 0x80]).preferredTransfer == nil)
  }

  /// After start codes, after lengths, and in the HEVC record.
  @Test func theTransferThatAMessagePrefersIsFound() {
    let message: [UInt8] = [147, 1, 18, 0x80]
    func number(_ codec: AVCodecID, _ packet: [UInt8], _ record: [UInt8]) -> UInt32? {
      PreferredTransfer.number(codec, packet: packet, record: record)
    }
    #expect(number(AV_CODEC_ID_H264, [0, 0, 1, 6] + message + [0, 0, 1, 0x65, 1], []) == 18)
    let avc = bytes("0142001effe1000e6742001eab40501ed3501010602001000428ce3c80")
    #expect(number(AV_CODEC_ID_H264, [0, 0, 0, 5, 6] + message + [0, 0, 0, 2, 0x65, 1], avc) == 18)
    #expect(number(AV_CODEC_ID_HEVC, [0, 0, 1, 0x4E, 1] + message, []) == 18)
    let head = [1] + [UInt8](repeating: 0, count: 20) + [3]
    let hevc = head + [1, 39, 0, 1, 0, 6, 0x4E, 1] + message
    #expect(number(AV_CODEC_ID_HEVC, [0, 0, 0, 2, 0x26, 1], hevc) == 18)
    #expect(number(AV_CODEC_ID_HEVC, [0, 0, 0, 2, 0x26, 1], head + [0]) == nil)
    #expect(number(AV_CODEC_ID_VP9, [0, 0, 1, 6] + message, []) == nil)
  }

  private func bytes(_ hex: String) -> [UInt8] {
    let digits = Array(hex.utf8).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }
}
