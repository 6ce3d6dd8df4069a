import CFFmpeg

/// What an AAC frame without a header states about its channels (ISO/IEC 14496-3, 4.4.2.1): the types of the elements
/// of which it consists, one for a single channel and one for a pair.
struct AACFrame: Hashable {
  enum Element: Hashable {
    case single
    case pair
  }

  /// The first element with channels; nil if another element is in its place.
  let first: Element?

  init(_ frame: [UInt8]) {
    var reader = BitReader(frame)
    first = Self.firstElement(&reader)
  }

  /// The number of bytes in which it is found, with whatever may precede it.
  static let lookedAt = 1024

  /// Skips what may precede the element: data, a program config element, fill elements.
  private static func firstElement(_ reader: inout BitReader) -> Element? {
    for _ in 0..<8 {
      switch reader.bits(3) {
      case 0: return .single
      case 1: return .pair
      case 4:
        guard reader.skipBits(4), let isAligned = reader.flag(), let count = length(&reader, 8),
          !isAligned || reader.align(), reader.skipBytes(count)
        else { return nil }
      case 5:
        guard AudioSpecificConfig.programChannels(&reader) != nil else { return nil }
      case 6:
        guard let count = length(&reader, 4), reader.skipBytes(count > 14 ? count - 1 : count) else {
          return nil
        }
      default: return nil
      }
    }
    return nil
  }

  /// Reads a count. Its largest value means that another count is to be added (4.4.2.7).
  private static func length(_ reader: inout BitReader, _ bits: Int) -> Int? {
    guard let count = reader.bits(bits) else { return nil }
    return count == 1 << UInt32(bits) - 1 ? reader.bits(8).map { Int(count) + Int($0) } : Int(count)
  }

  /// Returns the channel arrangement that the frame may have instead of that in its stream's record; nil if it begins
  /// as the record says.
  func other(than configuration: AudioSpecificConfig) -> UInt32? {
    guard let first, AudioSpecificConfig.plain.contains(configuration.objectType) else { return nil }
    switch (configuration.arrangement, first) {
    case (0, _), (1, .single), (2, .pair): return nil
    // All others begin with a single channel (1.6.3.5), which may be all there is.
    case (_, .single): return 1
    case (_, .pair): return 2
    }
  }
}

/// The sound of an AAC stream whose frames have another channel arrangement than its record says.
struct OtherArrangement {
  let sound: SoundHeader

  /// Nil if the frames are as the record says, or if they cannot be decoded with another arrangement.
  init?(
    _ parameters: UnsafeMutablePointer<AVCodecParameters>, _ packet: UnsafeMutablePointer<AVPacket>
  ) {
    guard parameters.pointee.codec_id == AV_CODEC_ID_AAC else { return nil }
    let record = BitstreamHeader.extradata(of: parameters)
    guard let configuration = AudioSpecificConfig(record),
      let other = AACFrame(Array(BitstreamHeader.bytes(of: packet).prefix(AACFrame.lookedAt)))
        .other(than: configuration),
      let changed = AudioSpecificConfig.record(record, arrangement: other),
      let told = AudioSpecificConfig(changed),
      let decoded = Self.decoded(packet, parameters, record: changed)
    else { return nil }
    let isOpen = told.hasBandReplication == nil || told.hasParametricStereo == nil
    sound = SoundHeader(
      channels: isOpen ? decoded.channels : told.channels,
      sampleRate: isOpen ? decoded.sampleRate : told.sampleRate)
  }

  /// Decodes the frame with another record. A decoder refuses a frame that has more elements than its record says.
  private static func decoded(
    _ packet: UnsafeMutablePointer<AVPacket>, _ parameters: UnsafeMutablePointer<AVCodecParameters>,
    record: [UInt8]
  ) -> SoundHeader? {
    var copy = avcodec_parameters_alloc()
    defer { avcodec_parameters_free(&copy) }
    guard let own = copy, avcodec_parameters_copy(own, parameters) >= 0,
      let bytes = own.pointee.extradata, Int(own.pointee.extradata_size) == record.count
    else { return nil }
    for (place, byte) in record.enumerated() { bytes[place] = byte }
    return DecodedSound.decoded(own, packet)
  }
}

extension AudioSpecificConfig {
  /// The object types whose frames consist of these elements: Main, LC, SSR, LTP.
  static let plain: Set<Int> = [1, 2, 3, 4]

  /// Returns the same record with another channel arrangement (1.6.2.1).
  static func record(_ record: [UInt8], arrangement: UInt32) -> [UInt8]? {
    var reader = BitReader(record)
    guard let type = reader.bits(5), type != 31 || reader.skipBits(6), let index = reader.bits(4) else {
      return nil
    }
    let start = 5 + (type == 31 ? 6 : 0) + 4 + (index == 15 ? 24 : 0)
    guard (start + 4 + 7) / 8 <= record.count else { return nil }
    var changed = record
    for bit in 0..<4 {
      let (place, mask) = ((start + bit) / 8, UInt8(0x80) >> UInt8((start + bit) % 8))
      let isSet = arrangement >> UInt32(3 - bit) & 1 == 1
      changed[place] = isSet ? changed[place] | mask : changed[place] & ~mask
    }
    return changed
  }
}
