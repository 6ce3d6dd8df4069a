import CFFmpeg
import ReelCore

/// The frame rate that the bitstream's own parameters state (ITU-T H.264, E.2.1; H.265, E.3.1).
struct BitstreamRate: Hashable {
  /// Frames per second.
  let rate: Rational
  /// Whether the rate may be that of a clock rather than of the pictures. If H.264 does not declare its rate as
  /// fixed, some encoders state that of fields, or the ticks of any clock.
  let isLoose: Bool
  /// Whether pictures may be shown for longer than one step, as in film on television (telecine).
  private let mayRepeat: Bool
  /// How many times faster than stated the pictures may come in that case: twice, if each of two fields may have been
  /// counted. Nil if nothing is known about that.
  private let mostFields: Double?

  /// Returns nil if the stream states no rate.
  init?(_ stream: StreamChoice.Stream) {
    guard let parameters = stream.pointee.codecpar else { return nil }
    switch parameters.pointee.codec_id {
    case AV_CODEC_ID_H264:
      guard let sequence = H264SequenceParameters(of: parameters), let stated = sequence.frameRate else {
        return nil
      }
      (rate, isLoose, mayRepeat, mostFields) = (
        stated, !sequence.isFixedRate, !sequence.hasPlainFrames, nil
      )
    case AV_CODEC_ID_HEVC:
      guard let stated = HEVCSequenceParameters(of: parameters)?.frameRate else { return nil }
      (rate, isLoose, mayRepeat, mostFields) = (stated, false, false, nil)
    case AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO:
      let header = BitstreamHeader.extradata(of: parameters)
      guard let stated = Self.sequenceRate(header) else { return nil }
      (rate, isLoose, mayRepeat, mostFields) = (stated, false, true, Self.isProgressive(header) ? 1 : 2)
    default: return nil
    }
  }

  /// Returns the rate for the code in a sequence header (ISO/IEC 13818-2, 6.3.3).
  private static func sequenceRate(_ bytes: [UInt8]) -> Rational? {
    guard bytes.count >= 8, bytes.starts(with: [0, 0, 1, 0xB3]) else { return nil }
    let rates = [
      (24_000, 1001), (24, 1), (25, 1), (30_000, 1001), (30, 1), (50, 1), (60_000, 1001), (60, 1),
    ]
    let code = Int(bytes[7] & 15)
    return (1...8).contains(code) ? Rational(rates[code - 1].0, rates[code - 1].1) : nil
  }

  /// Whether the sequence extension declares that no picture is a field (6.2.2.3). True for MPEG-1, which has no such
  /// extension.
  private static func isProgressive(_ bytes: [UInt8]) -> Bool {
    let units = StartCodeUnits(bytes).prefix(8)
    guard let own = units.first(where: { $0.first == 0xB5 && $0.dropFirst().first.map { $0 >> 4 } == 1 })
    else {
      return true
    }
    return own.dropFirst(2).first.map { $0 & 8 != 0 } ?? false
  }

  /// Whether the stated rate agrees with the measured rate `found`, to within a fiftieth.
  func agrees(with found: Double) -> Bool { Self.isNear(rate.value, found) }

  /// Whether the stated rate contradicts the measured rate `found`.
  ///
  /// - Parameter byFields: whether to compare pictures that may be shown for longer than one step. In MP4, whose
  ///   header has no record of MPEG-2, nothing is known about these without reading them.
  func contradicts(_ found: Double, byFields: Bool = true) -> Bool {
    guard rate.value > 0, rate.value <= ContentEvidence.fastest, !agrees(with: found) else { return false }
    // Pictures that may be shown for longer still do not come faster.
    if mayRepeat { return byFields && mostFields.map { found > 1.02 * $0 * rate.value } ?? false }
    return !isLoose || !Self.isNear(rate.value, 2 * found) && !Self.isNear(2 * rate.value, found)
  }

  private static func isNear(_ stated: Double, _ found: Double) -> Bool {
    abs(stated - found) <= 0.02 * found
  }

  /// Whether a stated rate matches `found` rather than `other`, which may differ by as little as a hundredth.
  static func isNear(_ stated: Double, _ found: Double, than other: Double) -> Bool {
    isNear(stated, found) && abs(stated - found) < abs(stated - other)
  }
}

extension HEVCSequenceParameters {
  /// Reads the parameters in a stream's own header; nil if it has none.
  fileprivate init?(of parameters: UnsafeMutablePointer<AVCodecParameters>) {
    let record = BitstreamHeader.extradata(of: parameters)
    let set =
      HEVCConfiguration(record)?.sequenceParameterSets.first.map { $0[...] }
      ?? StartCodeUnits(record).first { $0[$0.startIndex] >> 1 & 0x3f == 33 }.map { Array($0)[...] }
    guard let set else { return nil }
    self.init(unit: set)
  }
}

extension H264SequenceParameters {
  /// Reads the parameters in a stream's own header; nil if it has none.
  init?(of parameters: UnsafeMutablePointer<AVCodecParameters>) {
    let record = BitstreamHeader.extradata(of: parameters)
    let set =
      AVCConfiguration(record)?.sequenceParameterSets.first.map { $0[...] }
      ?? StartCodeUnits(record).first { $0[$0.startIndex] & 0x1f == 7 }.map { Array($0)[...] }
    guard let set else { return nil }
    self.init(unit: set)
  }
}
