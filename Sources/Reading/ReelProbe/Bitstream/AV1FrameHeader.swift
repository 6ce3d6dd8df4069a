/// The size in the header of an AV1 key frame (AV1 bitstream specification, 5.9.2).
struct AV1FrameHeader: Hashable {
  /// In pixels.
  let width: Int
  /// In pixels.
  let height: Int

  /// - Parameters:
  ///   - payload: of an OBU of type 3 or 6.
  ///   - sequence: the header that it follows.
  ///
  /// Nil for anything but a key frame that is shown as it is stored.
  init?(_ payload: some Collection<UInt8>, in sequence: AV1SequenceHeader) {
    let tools = sequence.tools
    var reader = BitReader(payload.prefix(32))
    // Nothing shown again, a key frame, shown.
    guard reader.bits(4) == 0b0001, reader.skipBits(1), Self.skipScreenContent(&reader, tools),
      reader.skipBits(tools.frameIDBits), let isOfOwnSize = reader.flag(),
      reader.skipBits(tools.orderHintBits),
      // Encoders in hardware state a maximum of whole blocks, or of all that they can do (5.9.5).
      let size = isOfOwnSize
        ? sequence.sizeBits.read(&reader) : PixelSize(width: sequence.width, height: sequence.height),
      !tools.superResolution || reader.flag() == false, reader.flag() == false
    else { return nil }
    (width, height) = (size.width, size.height)
  }

  private static func skipScreenContent(_ reader: inout BitReader, _ tools: AV1SequenceHeader.Tools) -> Bool {
    guard let isAllowed = tools.screenContent ?? reader.flag() else { return false }
    return !isAllowed || tools.wholeMotion != nil || reader.skipBits(1)
  }
}
