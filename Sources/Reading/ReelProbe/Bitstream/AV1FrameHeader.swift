/// The picture size in the header of an AV1 key frame (AV1 bitstream specification, 5.9.2).
struct AV1FrameHeader: Hashable {
  /// In pixels.
  let width: Int
  /// In pixels.
  let height: Int

  /// - Parameters:
  ///   - payload: the payload of an OBU of type 3 (frame header) or 6 (frame).
  ///   - sequence: the sequence header that applies to it.
  ///
  /// Nil for anything but a key frame that is shown, at the size at which it is stored.
  init?(_ payload: some Collection<UInt8>, in sequence: AV1SequenceHeader) {
    let tools = sequence.tools
    var reader = BitReader(payload.prefix(32))
    // show_existing_frame is 0, the frame is a key frame, show_frame is 1.
    guard reader.bits(4) == 0b0001, reader.skipBits(1), Self.skipScreenContent(&reader, tools),
      reader.skipBits(tools.frameIDBits), let isOfOwnSize = reader.flag(),
      reader.skipBits(tools.orderHintBits),
      // Hardware encoders state a maximum in the sequence header, rounded up to whole blocks or as large as they
      // support, and the real size in each frame (5.9.5).
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
