import CFFmpeg
import ReelCore

/// Compares the channels in the first frames of AAC, FLAC and ALAC against the codec's record, in containers that
/// keep one. Also finds records of Opus that cannot be right.
struct SoundsOfFrames {
  let structure: FileStructure
  let streams: StreamChoice
  let clock: ContentClock?
  let source: any ByteReading

  /// Sets the channels that the frames have, and returns warnings about records that state others.
  ///
  /// - Parameter doubted: the places of sounds that are of another codec.
  func take(
    _ scan: borrowing PacketScan, into media: inout MediaInfo, besides doubted: Set<Int>
  ) -> [MediaWarning] {
    guard media.encrypted != true, media.external != true, !structure.container.isMPEG
    else { return [] }
    var found: [MediaWarning] = []
    for (place, stream) in streams.audios.enumerated() where media.audio.indices.contains(place) {
      guard !doubted.contains(place), let parameters = stream.pointee.codecpar,
        let (stated, own) = channels(stream, parameters, scan)
      else { continue }
      media.audio[place].channels = own
      // Frames that arrange the same number of channels differently, or an unknown number, do not contradict the
      // record.
      guard stated != own else { continue }
      found.append(
        MediaWarning(
          .soundMismatch,
          own == nil
            ? "the header of its sound's codec states an impossible number of channels"
            : "the header of its sound's codec gives it other channels than its frames have",
          fact: "audio.\(place).channels", stated: stated.map { .number(Double($0)) },
          measured: own.map { .number(Double($0)) }))
    }
    return found
  }

  /// Returns what the record states and what the frames have; nil if they agree, or if one is unknown.
  private func channels(
    _ stream: StreamChoice.Stream, _ parameters: UnsafeMutablePointer<AVCodecParameters>,
    _ scan: borrowing PacketScan
  ) -> (stated: Int?, own: Int?)? {
    let record = BitstreamHeader.extradata(of: parameters)
    switch parameters.pointee.codec_id {
    case AV_CODEC_ID_AAC:
      guard let configuration = AudioSpecificConfig(record) else { return nil }
      return other(stream, parameters, configuration, scan).map { (configuration.channels, $0.channels) }
    case AV_CODEC_ID_FLAC:
      guard let stated = FLACStreamInfo(record)?.channels,
        let own = FLACStreamInfo.channels(ofFrame: head(of: stream, scan)), own != stated
      else { return nil }
      return (stated, own)
    case AV_CODEC_ID_ALAC:
      guard let stated = ALACConfiguration(record)?.channels,
        let own = ALACConfiguration.channels(ofFrame: head(of: stream, scan), stated: stated)
      else { return nil }
      return (stated, own)
    case AV_CODEC_ID_OPUS:
      guard let header = OpusHeader(record), header.channels == nil else { return nil }
      return (header.stated, nil)
    default: return nil
    }
  }

  /// Returns the beginning of the first frame.
  private func head(of stream: StreamChoice.Stream, _ scan: borrowing PacketScan) -> [UInt8] {
    if let packet = scan.firsts[stream.pointee.index] {
      return Array(BitstreamHeader.bytes(of: packet).prefix(16))
    }
    return firstFrame(of: stream).map { source.bytes(at: $0.lowerBound, count: min(16, $0.count)) } ?? []
  }

  private func other(
    _ stream: StreamChoice.Stream, _ parameters: UnsafeMutablePointer<AVCodecParameters>,
    _ configuration: AudioSpecificConfig, _ scan: borrowing PacketScan
  ) -> SoundHeader? {
    if let packet = scan.firsts[stream.pointee.index] {
      return OtherArrangement(parameters, packet)?.sound
    }
    guard let range = firstFrame(of: stream), !range.isEmpty else { return nil }
    // More than its beginning is hardly ever needed.
    let head = source.bytes(at: range.lowerBound, count: min(AACFrame.lookedAt, range.count))
    guard AACFrame(head).other(than: configuration) != nil, range.count <= Self.longestFrame else {
      return nil
    }
    guard var packet = MadePacket.of(range, in: source) else { return nil }
    defer { MadePacket.free(&packet) }
    return OtherArrangement(parameters, packet)?.sound
  }

  /// The most bytes of a frame: 6144 bits for each of 48 channels (ISO/IEC 14496-3, 4.5.3.2).
  private static let longestFrame = 48 * 768

  private func firstFrame(of stream: StreamChoice.Stream) -> Range<Int64>? {
    clock.firstFrame(of: stream, among: streams, in: structure, size: source.size)
  }
}
