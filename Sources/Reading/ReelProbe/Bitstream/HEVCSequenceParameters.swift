import ReelCore

/// What an HEVC sequence parameter set states about its pictures (ITU-T H.265, 7.3.2.2 and E.2.1).
///
/// FFmpeg's parser reads it, too, but reports neither the pixel shape nor the transfer function. Those are at the end,
/// so everything before them has to be skipped.
struct HEVCSequenceParameters: Hashable {
  /// In pixels, cropped.
  let width: Int
  /// In pixels, cropped.
  let height: Int
  let sampling: PictureSampling
  let usability: VideoUsability
  /// Pictures per second, according to `vui_time_scale` and `vui_num_units_in_tick`; nil if they are absent, or count
  /// fields.
  let frameRate: Rational?

  /// - Parameter unit: a NAL unit of type 33, with its header of two bytes.
  init?(unit: some Collection<UInt8>) {
    guard let first = unit.first, first >> 1 & 0x3f == 33 else { return nil }
    var reader = BitReader(escaped: unit.dropFirst(2))
    guard reader.bits(4) != nil, let deepest = reader.bits(3), reader.flag() != nil,
      Self.skipProfiles(&reader, subLayers: Int(deepest)), reader.unsigned() != nil,
      let (width, height, chroma) = Self.size(&reader), let depth = reader.unsigned(), depth <= 8,
      Self.skipCoding(&reader, subLayers: Int(deepest)), let hasUsability = reader.flag()
    else { return nil }
    (self.width, self.height) = (width, height)
    sampling = PictureSampling(chromaFormat: chroma, bitDepth: 8 + depth)
    if hasUsability {
      guard let usability = VideoUsability(&reader) else { return nil }
      self.usability = usability
      frameRate = Self.frameRate(&reader)
    } else {
      usability = VideoUsability()
      frameRate = nil
    }
  }

  /// Reads the frame rate from what follows the colours in the usability information (E.2.1).
  private static func frameRate(_ reader: inout BitReader) -> Rational? {
    guard let hasChromaPlace = reader.flag(), !hasChromaPlace || reader.skipNumbers(2), reader.skipBits(1),
      let isFields = reader.flag(), reader.skipBits(1), let hasWindow = reader.flag(),
      !hasWindow || reader.skipNumbers(4), reader.flag() == true, let units = reader.bits(32),
      let scale = reader.bits(32), !isFields
    else { return nil }
    return max(scale, units) <= Int32.max ? Rational(Int(scale), Int(units)) : nil
  }

  /// Skips the profiles, tiers and levels (7.3.3).
  private static func skipProfiles(_ reader: inout BitReader, subLayers: Int) -> Bool {
    guard reader.skipBits(88 + 8) else { return false }
    guard subLayers > 0 else { return true }
    var present: [(profile: Bool, level: Bool)] = []
    for _ in 0..<subLayers {
      guard let profile = reader.flag(), let level = reader.flag() else { return false }
      present.append((profile, level))
    }
    guard reader.skipBits(2 * (8 - subLayers)) else { return false }
    return present.allSatisfy { reader.skipBits(($0.profile ? 88 : 0) + ($0.level ? 8 : 0)) }
  }

  private static func size(_ reader: inout BitReader) -> (width: Int, height: Int, chroma: Int)? {
    guard let chroma = reader.unsigned(), chroma <= 3 else { return nil }
    if chroma == 3, reader.flag() == nil { return nil }
    guard let width = reader.unsigned(), let height = reader.unsigned(), width <= 65_536, height <= 65_536,
      let isCropped = reader.flag()
    else { return nil }
    guard isCropped else { return width > 0 && height > 0 ? (width, height, chroma) : nil }
    guard let left = reader.unsigned(), let right = reader.unsigned(), let top = reader.unsigned(),
      let bottom = reader.unsigned()
    else { return nil }
    let (unitX, unitY) = (chroma == 1 || chroma == 2 ? 2 : 1, chroma == 1 ? 2 : 1)
    let cropped = (width - unitX * (left + right), height - unitY * (top + bottom), chroma)
    return cropped.0 > 0 && cropped.1 > 0 ? cropped : nil
  }

  /// Skips everything from the bit depth of chroma to the usability information.
  private static func skipCoding(_ reader: inout BitReader, subLayers: Int) -> Bool {
    guard reader.skipNumbers(1), let orderBits = reader.unsigned(), orderBits <= 12,
      let isOrderedPerLayer = reader.flag(), reader.skipNumbers(3 * (isOrderedPerLayer ? subLayers + 1 : 1)),
      reader.skipNumbers(6), skipScaling(&reader), reader.skipBits(2), skipRawBlocks(&reader),
      skipReferences(&reader), skipLongTermReferences(&reader, orderBits: orderBits + 4)
    else { return false }
    return reader.skipBits(2)
  }

  /// Skips the scaling lists (7.3.4).
  private static func skipScaling(_ reader: inout BitReader) -> Bool {
    guard let isEnabled = reader.flag() else { return false }
    guard isEnabled else { return true }
    guard let hasLists = reader.flag() else { return false }
    guard hasLists else { return true }
    for size in 0..<4 {
      for _ in stride(from: 0, to: 6, by: size == 3 ? 3 : 1) {
        guard let isCoded = reader.flag() else { return false }
        let numbers = isCoded ? min(64, 1 << (4 + 2 * size)) + (size > 1 ? 1 : 0) : 1
        guard reader.skipNumbers(numbers) else { return false }
      }
    }
    return true
  }

  private static func skipRawBlocks(_ reader: inout BitReader) -> Bool {
    guard let isEnabled = reader.flag() else { return false }
    return !isEnabled || (reader.skipBits(8) && reader.skipNumbers(2) && reader.skipBits(1))
  }

  /// Skips the short-term reference picture sets (7.3.7). A set may be coded as the difference from the one before it.
  private static func skipReferences(_ reader: inout BitReader) -> Bool {
    guard let sets = reader.unsigned(), sets <= 64 else { return false }
    var pictures = 0
    for set in 0..<sets {
      guard let count = referenceSet(&reader, isFirst: set == 0, before: pictures) else { return false }
      pictures = count
    }
    return true
  }

  /// Returns the number of pictures that the set refers to.
  private static func referenceSet(_ reader: inout BitReader, isFirst: Bool, before: Int) -> Int? {
    guard let isDifference = isFirst ? false : reader.flag() else { return nil }
    guard !isDifference else { return differingSet(&reader, before: before) }
    guard let earlier = reader.unsigned(), let later = reader.unsigned(), earlier <= 16, later <= 16 else {
      return nil
    }
    for _ in 0..<(earlier + later) {
      guard reader.skipNumbers(1), reader.flag() != nil else { return nil }
    }
    return earlier + later
  }

  private static func differingSet(_ reader: inout BitReader, before: Int) -> Int? {
    guard reader.flag() != nil, reader.skipNumbers(1) else { return nil }
    var count = 0
    for _ in 0...before {
      guard let isUsed = reader.flag(), let isKept = isUsed ? true : reader.flag() else { return nil }
      if isKept { count += 1 }
    }
    return count <= 32 ? count : nil
  }

  private static func skipLongTermReferences(_ reader: inout BitReader, orderBits: Int) -> Bool {
    guard let isPresent = reader.flag() else { return false }
    guard isPresent else { return true }
    guard let count = reader.unsigned(), count <= 32 else { return false }
    return reader.skipBits(count * (orderBits + 1))
  }
}
