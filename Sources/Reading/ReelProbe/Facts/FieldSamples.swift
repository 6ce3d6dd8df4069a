import CFFmpeg
import ReelCore

/// The samples of an ISO base media file whose H.264 is coded in fields, each of which may be a sample of its own:
/// FFmpeg's muxer stores AVCHD in this way.
struct FieldSamples {
  private let sequence: H264SequenceParameters
  private let lengthSize: Int
  private let file: BoundedSource

  /// Returns how often pictures come, if each sample is a field and `rate` is that of the samples; otherwise nil.
  static func frameRate(
    _ rate: FrameRate, _ structure: FileStructure, _ stream: StreamChoice.Stream, in file: BoundedSource
  ) -> FrameRate? {
    guard structure.iso?.external == false, let parameters = stream.pointee.codecpar,
      parameters.pointee.codec_id == AV_CODEC_ID_H264,
      let record = AVCConfiguration(BitstreamHeader.extradata(of: parameters)),
      let sequence = H264SequenceParameters(of: parameters), !sequence.framesOnly,
      sequence.sampling.chromaFormat != 3, let stated = sequence.frameRate,
      abs(rate.value - 2 * stated.value) < 0.02 * rate.value
    else { return nil }
    // Two at the beginning, in the middle and at the end.
    let places = StrayPicture.places(of: stream, structure.iso?.fragmentTable, in: file) { count in
      count < 6 ? [] : [0, count / 2 - 1, count - 2].flatMap { [$0, $0 + 1] }
    }
    let samples = FieldSamples(sequence: sequence, lengthSize: record.lengthSize, file: file)
    let fields = places.compactMap(samples.field)
    guard fields.count == 6, fields[0].frame == fields[1].frame,
      [0, 2, 4].allSatisfy({ fields[$0].isBottom != fields[$0 + 1].isBottom })
    else { return nil }
    return FrameRate(stated)
  }

  private static let mostUnits = 64
  private static let bytesOfHeader = 32

  /// Returns the number of the frame and the parity of the field that the first slice is of (ITU-T H.264, 7.3.3); nil
  /// if it is of a whole frame.
  private func field(at place: Range<Int64>) -> (frame: UInt32, isBottom: Bool)? {
    var next = place.lowerBound
    for _ in 0..<Self.mostUnits where place.upperBound - next > Int64(lengthSize) {
      let head = file.bytes(at: next, count: lengthSize + Self.bytesOfHeader)
      guard let length = head.number(at: 0, bytes: lengthSize), length > 0,
        let kind = head.dropFirst(lengthSize).first
      else { return nil }
      guard kind & 0x1f == 1 || kind & 0x1f == 5 else {
        next += Int64(lengthSize) + Int64(length)
        continue
      }
      var reader = BitReader(escaped: head.dropFirst(lengthSize + 1))
      guard reader.skipNumbers(3), let frame = reader.bits(sequence.frameNumberBits),
        reader.flag() == true, let isBottom = reader.flag()
      else { return nil }
      return (frame, isBottom)
    }
    return nil
  }
}
