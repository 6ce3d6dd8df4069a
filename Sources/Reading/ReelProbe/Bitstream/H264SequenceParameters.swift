import ReelCore

/// What an H.264 sequence parameter set states about its pictures (ITU-T H.264, 7.3.2.1.1 and E.1.1).
///
/// FFmpeg's parser reads it, too, but reports neither the pixel shape nor the transfer function.
struct H264SequenceParameters: Hashable {
  /// In pixels, cropped.
  let width: Int
  /// In pixels, cropped.
  let height: Int
  let sampling: PictureSampling
  /// `profile_idc` and the constraint flags.
  let profile: UInt32
  /// Whether every picture is a frame that is shown once, as far as the set states it. False if it allows fields, or
  /// says that messages state how each picture is shown.
  let hasPlainFrames: Bool
  /// Whether no picture is a field.
  let framesOnly: Bool
  /// The number of bits of `frame_num` in the header of a slice.
  let frameNumberBits: Int
  /// Frames per second, according to `time_scale` and `num_units_in_tick`; nil if they are absent.
  let frameRate: Rational?
  /// Whether every frame has the duration that this rate implies.
  let isFixedRate: Bool
  let usability: VideoUsability

  /// - Parameter unit: a NAL unit of type 7, with its header byte.
  init?(unit: some Collection<UInt8>) {
    guard let first = unit.first, first & 0x1f == 7 else { return nil }
    var reader = BitReader(escaped: unit.dropFirst())
    guard let profile = reader.bits(16), reader.bits(8) != nil, reader.unsigned() != nil,
      let sampling = Self.sampling(&reader, profile: profile >> 8), let numberBits = reader.unsigned(),
      numberBits <= 12, Self.skipOrder(&reader),
      let size = Self.size(&reader, chroma: sampling.chromaFormat), let hasUsability = reader.flag()
    else { return nil }
    self.sampling = sampling
    self.profile = profile
    (width, height) = (size.width, size.height)
    framesOnly = size.framesOnly
    frameNumberBits = numberBits + 4
    if hasUsability {
      guard let usability = VideoUsability(&reader) else { return nil }
      self.usability = usability
      let timing = Timing(&reader)
      hasPlainFrames = size.framesOnly && timing?.hasPictureStructure == false
      frameRate = timing?.frameRate
      isFixedRate = timing?.isFixedRate ?? false
    } else {
      usability = VideoUsability()
      hasPlainFrames = size.framesOnly
      (frameRate, isFixedRate) = (nil, false)
    }
  }

  private static func sampling(_ reader: inout BitReader, profile: UInt32) -> PictureSampling? {
    let high: Set<UInt32> = [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135]
    guard high.contains(profile) else { return PictureSampling(chromaFormat: 1, bitDepth: 8) }
    guard let chroma = reader.unsigned(), chroma <= 3 else { return nil }
    if chroma == 3, reader.flag() == nil { return nil }
    guard let depth = reader.unsigned(), depth <= 6, reader.skipNumbers(1), reader.flag() != nil,
      let hasScaling = reader.flag()
    else { return nil }
    if hasScaling, !skipScaling(&reader, lists: chroma == 3 ? 12 : 8) { return nil }
    return PictureSampling(chromaFormat: chroma, bitDepth: 8 + depth)
  }

  private static func skipScaling(_ reader: inout BitReader, lists: Int) -> Bool {
    for list in 0..<lists {
      guard let present = reader.flag() else { return false }
      if present, !skipScalingList(&reader, count: list < 6 ? 16 : 64) { return false }
    }
    return true
  }

  private static func skipScalingList(_ reader: inout BitReader, count: Int) -> Bool {
    var last = 8
    for _ in 0..<count {
      guard let delta = reader.signed() else { return false }
      let next = (last + delta + 256) & 255
      if next == 0 { return true }
      last = next
    }
    return true
  }

  /// Skips the picture order and the reference frames.
  private static func skipOrder(_ reader: inout BitReader) -> Bool {
    guard let order = reader.unsigned() else { return false }
    if order == 0, !reader.skipNumbers(1) { return false }
    if order == 1 {
      guard reader.flag() != nil, reader.skipNumbers(2), let cycle = reader.unsigned(), cycle < 256,
        reader.skipNumbers(cycle)
      else { return false }
    }
    return reader.skipNumbers(1) && reader.flag() != nil
  }

  private static func size(
    _ reader: inout BitReader, chroma: Int
  ) -> (width: Int, height: Int, framesOnly: Bool)? {
    guard let across = reader.unsigned(), let down = reader.unsigned(), across < 4096, down < 4096,
      let framesOnly = reader.flag()
    else { return nil }
    if !framesOnly, reader.flag() == nil { return nil }
    guard reader.flag() != nil, let isCropped = reader.flag() else { return nil }
    let fields = framesOnly ? 1 : 2
    let (width, height) = (16 * (across + 1), 16 * fields * (down + 1))
    guard isCropped else { return (width, height, framesOnly) }
    guard let left = reader.unsigned(), let right = reader.unsigned(), let top = reader.unsigned(),
      let bottom = reader.unsigned()
    else { return nil }
    let unitX = chroma == 1 || chroma == 2 ? 2 : 1
    let unitY = (chroma == 1 ? 2 : 1) * fields
    let cropped = (width - unitX * (left + right), height - unitY * (top + bottom), framesOnly)
    return cropped.0 > 0 && cropped.1 > 0 ? cropped : nil
  }
}

/// What follows the colours in the usability information of H.264 (E.1.1).
private struct Timing {
  /// `pic_struct_present_flag`
  let hasPictureStructure: Bool
  let frameRate: Rational?
  /// `fixed_frame_rate_flag`
  let isFixedRate: Bool

  /// Nil if it can't be read.
  init?(_ reader: inout BitReader) {
    guard let hasChromaPlace = reader.flag(), !hasChromaPlace || reader.skipNumbers(2),
      let hasTiming = reader.flag()
    else { return nil }
    if hasTiming {
      guard let units = reader.bits(32), let scale = reader.bits(32), let isFixed = reader.flag()
      else { return nil }
      // A frame lasts two ticks (E.2.1): most streams state 50/1, and mean 25 frames per second.
      let rate = scale % 2 == 0 ? (Int(scale / 2), Int(units)) : (Int(scale), 2 * Int(units))
      frameRate = max(rate.0, rate.1) <= Int32.max ? Rational(rate.0, rate.1) : nil
      isFixedRate = isFixed
    } else {
      (frameRate, isFixedRate) = (nil, false)
    }
    guard let hasBuffers = reader.flag(), !hasBuffers || Self.skipBuffers(&reader),
      let hasPictureBuffers = reader.flag(), !hasPictureBuffers || Self.skipBuffers(&reader),
      !(hasBuffers || hasPictureBuffers) || reader.skipBits(1), let hasPictureStructure = reader.flag()
    else { return nil }
    self.hasPictureStructure = hasPictureStructure
  }

  /// Skips the parameters of a buffer (E.1.2).
  private static func skipBuffers(_ reader: inout BitReader) -> Bool {
    guard let count = reader.unsigned(), count < 32, reader.skipBits(8) else { return false }
    for _ in 0...count {
      guard reader.skipNumbers(2), reader.skipBits(1) else { return false }
    }
    return reader.skipBits(20)
  }
}
