import CFFmpeg
import ReelCore

extension BitstreamHeader {
  /// Reads an AV1 stream's configuration record and its first sample. Nil if the two describe different pictures, or if
  /// the sample does not begin with an ordinary key frame.
  init?(av1 parameters: UnsafeMutablePointer<AVCodecParameters>, packet: UnsafeMutablePointer<AVPacket>) {
    // Four bytes precede the record's units (AV1 in ISOBMFF, 2.3.3).
    let record = Self.extradata(of: parameters)
    guard record.count > 4, record[0] == 0x81,
      let told = AV1Units(record[4...]).first(where: { $0.type == AV1Units.Kind.sequenceHeader }),
      let sequence = AV1SequenceHeader(told.payload),
      let frame = AV1FrameHeader(firstOf: AV1Units(Self.bytes(of: packet)[...]), told: sequence),
      let format = Self.format(bitDepth: sequence.bitDepth)
    else { return nil }
    // A decoder takes the pixel shape from the frame's header (square here) and the colours from the sequence header,
    // whatever the container says.
    let usability = VideoUsability(
      pixel: Rational(1, 1).map(SampleAspectRatio.init), colour: sequence.colour)
    self.init(
      width: frame.width, height: frame.height, format: format, profile: 0, level: Int32(sequence.level),
      usability: usability)
  }
}

extension AV1FrameHeader {
  /// Reads the first frame of a sample. A sequence header in the sample takes the place of the record's if both
  /// describe the same pictures: SVT-AV1 writes a record whose coding tools differ from those that its samples use.
  ///
  /// - Parameter told: the sequence header of the record; nil if only the sample's own counts.
  init?(firstOf units: AV1Units, told: AV1SequenceHeader?) {
    var sequence = told
    for unit in units {
      switch unit.type {
      case AV1Units.Kind.sequenceHeader:
        guard let found = AV1SequenceHeader(unit.payload), told.map(found.showsTheSame) != false else {
          return nil
        }
        sequence = found
      case AV1Units.Kind.frameHeader, AV1Units.Kind.frame:
        guard let sequence, let frame = AV1FrameHeader(unit.payload, in: sequence) else { return nil }
        self = frame
        return
      default: break
      }
    }
    return nil
  }
}

extension AV1SequenceHeader {
  func showsTheSame(as other: AV1SequenceHeader) -> Bool {
    width == other.width && height == other.height && bitDepth == other.bitDepth && colour == other.colour
  }
}
