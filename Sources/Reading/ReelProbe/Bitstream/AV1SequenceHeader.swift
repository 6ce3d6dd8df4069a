/// The sequence header of AV1 (AV1 bitstream specification, 5.5), if it is of the kind that videos have: 4:2:0, one
/// operating point, no timing information.
struct AV1SequenceHeader: Hashable {
  /// The maximum width in pixels; a frame may be smaller.
  let width: Int
  /// The maximum height in pixels.
  let height: Int
  let sizeBits: SizeBits
  let level: Int
  /// Bits of one component: 8 or 10.
  let bitDepth: Int
  let colour: VideoUsability.Colour
  let tools: Tools

  /// The number of bits in which a frame's header stores its width and its height.
  struct SizeBits: Hashable {
    let across: Int
    let down: Int

    func read(_ reader: inout BitReader) -> PixelSize? {
      guard let width = reader.bits(across), let height = reader.bits(down) else { return nil }
      return PixelSize(width: Int(width) + 1, height: Int(height) + 1)
    }
  }

  /// The coding tools that determine the layout of a frame's header.
  struct Tools: Hashable {
    /// The number of bits of a frame's ID; 0 if frames have none.
    var frameIDBits = 0
    var orderHintBits = 0
    /// Whether screen content tools are used; nil if each frame states it.
    var screenContent: Bool?
    /// Whether motion vectors are whole pixels; nil if each frame states it.
    var wholeMotion: Bool?
    var superResolution = false
  }

  /// - Parameter payload: the payload of an OBU of type 1 (sequence header). Nil for a header of any other kind.
  init?(_ payload: some Sequence<UInt8>) {
    var reader = BitReader(payload)
    // Profile 0, no reduced still picture header, no timing information.
    guard reader.bits(3) == 0, reader.flag() != nil, reader.flag() == false, reader.flag() == false,
      let hasDelay = reader.flag(), reader.bits(5) == 0, reader.skipBits(12), let level = reader.bits(5),
      level <= 7 || reader.skipBits(1), !hasDelay || Self.skipDelay(&reader),
      let sizeBits = SizeBits(&reader), let size = sizeBits.read(&reader), let tools = Tools(&reader),
      reader.skipBits(2),
      let isDeep = reader.flag(), reader.flag() == false, let colour = Self.colour(&reader)
    else { return nil }
    self.level = Int(level)
    (width, height) = (size.width, size.height)
    self.sizeBits = sizeBits
    self.tools = tools
    bitDepth = isDeep ? 10 : 8
    self.colour = colour
  }

  private static func skipDelay(_ reader: inout BitReader) -> Bool {
    guard let isPresent = reader.flag() else { return false }
    return !isPresent || reader.skipBits(4)
  }

  /// Reads the color configuration (5.5.2) of profile 0 with chroma. What is not stated is 2, unspecified.
  private static func colour(_ reader: inout BitReader) -> VideoUsability.Colour? {
    guard let isSaid = reader.flag() else { return nil }
    guard isSaid else { return VideoUsability.Colour(primaries: 2, transfer: 2, matrix: 2) }
    // Matrix 0 is RGB, which cannot be 4:2:0.
    guard let primaries = reader.bits(8), let transfer = reader.bits(8), let matrix = reader.bits(8),
      matrix != 0
    else { return nil }
    return VideoUsability.Colour(primaries: primaries, transfer: transfer, matrix: matrix)
  }
}

extension AV1SequenceHeader.SizeBits {
  fileprivate init?(_ reader: inout BitReader) {
    guard let across = reader.bits(4), let down = reader.bits(4) else { return nil }
    (self.across, self.down) = (Int(across) + 1, Int(down) + 1)
  }
}

extension AV1SequenceHeader.Tools {
  /// Reads the fields from the frame IDs to super-resolution.
  fileprivate init?(_ reader: inout BitReader) {
    guard let hasIDs = reader.flag() else { return nil }
    if hasIDs {
      guard let delta = reader.bits(4), let additional = reader.bits(3) else { return nil }
      frameIDBits = Int(delta + additional) + 3
    }
    guard reader.skipBits(3 + 4), let hasOrder = reader.flag(), !hasOrder || reader.skipBits(2),
      readScreenContent(&reader)
    else { return nil }
    if hasOrder {
      guard let bits = reader.bits(3) else { return nil }
      orderHintBits = Int(bits) + 1
    }
    guard let superResolution = reader.flag() else { return nil }
    self.superResolution = superResolution
  }

  private mutating func readScreenContent(_ reader: inout BitReader) -> Bool {
    guard let isOpen = reader.flag() else { return false }
    if !isOpen {
      guard let isForced = reader.flag() else { return false }
      screenContent = isForced
    }
    guard screenContent != false else { return true }
    guard let isMotionOpen = reader.flag() else { return false }
    if !isMotionOpen {
      guard let isForced = reader.flag() else { return false }
      wholeMotion = isForced
    }
    return true
  }
}
