import CFFmpeg
import ReelCore

/// The rate of pictures that the bitstream's own parameters state (ITU-T H.264, E.2.1; H.265, E.3.1).
struct BitstreamRate: Hashable {
  /// Frames a second.
  let rate: Rational
  /// Whether it is the clock's rather than the pictures': where H.264 does not say that its rate is fixed, some encoders
  /// state that of fields, or ticks of any clock.
  let isLoose: Bool

  /// Nil where nothing is stated.
  init?(_ stream: StreamChoice.Stream) {
    guard let parameters = stream.pointee.codecpar else { return nil }
    switch parameters.pointee.codec_id {
    case AV_CODEC_ID_H264:
      guard let sequence = H264SequenceParameters(of: parameters), let stated = sequence.frameRate else {
        return nil
      }
      (rate, isLoose) = (stated, !sequence.isFixedRate)
    case AV_CODEC_ID_HEVC:
      let sets = HEVCConfiguration(BitstreamHeader.extradata(of: parameters))?.sequenceParameterSets
      guard let set = sets?.first, let stated = HEVCSequenceParameters(unit: set)?.frameRate else {
        return nil
      }
      (rate, isLoose) = (stated, false)
    default: return nil
    }
  }

  /// Whether pictures that come so fast are as it says, to a fiftieth.
  func agrees(with found: Double) -> Bool { Self.isNear(rate.value, found) }

  /// Whether it says otherwise than that pictures come so fast.
  func contradicts(_ found: Double) -> Bool {
    guard rate.value > 0, rate.value <= ContentEvidence.fastest, !agrees(with: found) else { return false }
    return !isLoose || !Self.isNear(rate.value, 2 * found) && !Self.isNear(2 * rate.value, found)
  }

  private static func isNear(_ stated: Double, _ found: Double) -> Bool {
    abs(stated - found) <= 0.02 * found
  }
}

extension H264SequenceParameters {
  /// Of a stream's own header; nil where it has none.
  init?(of parameters: UnsafeMutablePointer<AVCodecParameters>) {
    let record = BitstreamHeader.extradata(of: parameters)
    let set =
      AVCConfiguration(record)?.sequenceParameterSets.first.map { $0[...] }
      ?? StartCodeUnits(record).first { $0[$0.startIndex] & 0x1f == 7 }.map { Array($0)[...] }
    guard let set else { return nil }
    self.init(unit: set)
  }
}
