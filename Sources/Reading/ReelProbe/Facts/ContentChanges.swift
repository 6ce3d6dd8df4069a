import CFFmpeg
import ReelCore

/// Changes of the pictures' size, shape or sampling, or of the sound's channels or rate, within a file. They are found
/// by the headers in all of its packets.
struct ContentChanges {
  private let video: StreamChoice.Stream?
  private let audios: [StreamChoice.Stream]
  /// Whether only the pictures state the shape of their pixels.
  private let isMultiplex: Bool
  /// What the pictures are at the beginning, and the first other size that follows.
  private var pictures: (first: Picture?, size: PixelSize?)
  private var shape: MediaWarning?
  private var sampling: MediaWarning?
  private var sounds: [Int32: (first: SoundHeader, other: SoundHeader?, packets: Int)] = [:]

  /// The number of packets with other sound from which on that is a change, and not damage.
  private static let telling = 8
  /// The number of bytes of a packet in which to look for its headers.
  private static let lookedAt = 65_536

  /// What the headers of a picture say about it.
  private struct Picture {
    let size: PixelSize
    /// Nil if it is not stated.
    let pixel: SampleAspectRatio?
    /// Nil if it is not known.
    let sampling: PictureSampling?

    init(
      _ width: Int, _ height: Int, _ pixel: SampleAspectRatio? = nil, _ sampling: PictureSampling? = nil
    ) {
      size = PixelSize(width: width, height: height)
      (self.pixel, self.sampling) = (pixel, sampling)
    }
  }

  init(_ streams: StreamChoice, _ container: MediaContainer) {
    (video, audios) = (streams.video, streams.audios)
    isMultiplex = container.isMPEG
    if let parameters = video?.pointee.codecpar {
      pictures.first = Self.picture(
        parameters.pointee.codec_id, record: BitstreamHeader.extradata(of: parameters))
    }
    for stream in audios {
      guard let parameters = stream.pointee.codecpar,
        let told = SoundHeader(
          parameters.pointee.codec_id, record: BitstreamHeader.extradata(of: parameters))
      else { continue }
      sounds[stream.pointee.index] = (told, nil, 0)
    }
  }

  mutating func note(_ packet: UnsafeMutablePointer<AVPacket>) {
    let index = packet.pointee.stream_index
    if let video, video.pointee.index == index {
      guard pictures.size == nil, packet.pointee.flags & AV_PKT_FLAG_KEY != 0,
        let picture = Self.picture(of: packet, video)
      else { return }
      let first = pictures.first ?? picture
      pictures.first = first
      if picture.size != first.size {
        pictures.size = picture.size
      } else {
        if isMultiplex, shape == nil {
          shape = first.pixel.flatMap { pixel in
            picture.pixel.flatMap { MediaWarning.changedShape(pixel, $0) }
          }
        }
        sampling = sampling ?? .changedSampling(first.sampling, picture.sampling)
      }
    } else if let stream = audios.first(where: { $0.pointee.index == index }) {
      noteSound(packet, stream)
    }
  }

  private mutating func noteSound(
    _ packet: UnsafeMutablePointer<AVPacket>, _ stream: StreamChoice.Stream
  ) {
    guard let codec = stream.pointee.codecpar?.pointee.codec_id else { return }
    let index = packet.pointee.stream_index
    let record = Self.newRecord(packet)
    let told =
      record.flatMap { SoundHeader(codec, record: $0) }
      ?? SoundHeader(codec, frame: Self.beginning(of: packet, upTo: 4096))
    guard let told else { return }
    guard var known = sounds[index] else {
      sounds[index] = (told, nil, 0)
      return
    }
    guard told.contradicts(known.first) else { return }
    if known.packets == 0 { known.other = told }
    known.packets += record == nil ? 1 : Self.telling
    sounds[index] = known
  }

  var warnings: [MediaWarning] {
    var found: [MediaWarning] = []
    if let first = pictures.first?.size, let other = pictures.size {
      found.append(.changedSize(first, other))
    }
    found += [shape, sampling].compactMap(\.self)
    for (place, stream) in audios.enumerated() {
      guard let sound = sounds[stream.pointee.index], let other = sound.other, sound.packets >= Self.telling
      else { continue }
      if let change = MediaWarning.changedSound(sound.first, other, place: place) { found.append(change) }
    }
    return found
  }

  // MARK: What a packet says

  private static func beginning(of packet: UnsafeMutablePointer<AVPacket>, upTo most: Int) -> [UInt8] {
    guard let data = packet.pointee.data, packet.pointee.size > 0 else { return [] }
    return Array(UnsafeBufferPointer(start: data, count: min(most, Int(packet.pointee.size))))
  }

  /// Returns the record that replaces the stream's own from this packet on; nil if there is none.
  private static func newRecord(_ packet: UnsafeMutablePointer<AVPacket>) -> [UInt8]? {
    var size = 0
    return av_packet_get_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, &size).map {
      Array(UnsafeBufferPointer(start: $0, count: size))
    }
  }

  /// Returns how the pictures of a later record differ from those of the first; only of H.264 and HEVC.
  static func change(_ codec: AVCodecID, _ first: [UInt8], _ later: [UInt8]) -> MediaWarning? {
    guard let first = picture(codec, record: first), let other = picture(codec, record: later) else {
      return nil
    }
    return first.size != other.size
      ? .changedSize(first.size, other.size) : .changedSampling(first.sampling, other.sampling)
  }

  private static func picture(_ codec: AVCodecID, record: [UInt8]) -> Picture? {
    switch codec {
    case AV_CODEC_ID_H264:
      picture(ofH264: (AVCConfiguration(record)?.sequenceParameterSets ?? []).map { $0[...] })
    case AV_CODEC_ID_HEVC:
      picture(ofHEVC: (HEVCConfiguration(record)?.sequenceParameterSets ?? []).map { $0[...] })
    default: nil
    }
  }

  private static func picture(
    of packet: UnsafeMutablePointer<AVPacket>, _ stream: StreamChoice.Stream
  ) -> Picture? {
    guard let parameters = stream.pointee.codecpar else { return nil }
    let codec = parameters.pointee.codec_id
    if let record = newRecord(packet) { return picture(codec, record: record) }
    switch codec {
    case AV_CODEC_ID_VP8:
      return VP8FrameHeader(BitstreamHeader.bytes(of: packet)).map { Picture($0.width, $0.height) }
    case AV_CODEC_ID_VP9:
      return VP9FrameHeader(beginning(of: packet, upTo: 64)).map { Picture($0.width, $0.height) }
    case AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO:
      return MPEGSequenceHeader(beginning(of: packet, upTo: lookedAt)).map {
        Picture($0.width, $0.height, $0.pixel)
      }
    case AV_CODEC_ID_AV1:
      // The end of the sample delimits the frame, so the whole packet is needed.
      return AV1FrameHeader(firstOf: AV1Units(BitstreamHeader.bytes(of: packet)[...]), told: nil).map {
        Picture($0.width, $0.height)
      }
    case AV_CODEC_ID_H264:
      return picture(
        ofH264: units(packet, AVCConfiguration(BitstreamHeader.extradata(of: parameters))?.lengthSize))
    case AV_CODEC_ID_HEVC:
      return picture(
        ofHEVC: units(packet, HEVCConfiguration(BitstreamHeader.extradata(of: parameters))?.lengthSize))
    default: return nil
    }
  }

  private static func units(
    _ packet: UnsafeMutablePointer<AVPacket>, _ lengthSize: Int?
  ) -> [ArraySlice<UInt8>] {
    guard let lengthSize else { return Array(StartCodeUnits(beginning(of: packet, upTo: lookedAt))) }
    return Array(LengthPrefixedUnits(beginning(of: packet, upTo: lookedAt), lengthSize: lengthSize))
  }

  private static func picture(ofH264 units: [ArraySlice<UInt8>]) -> Picture? {
    units.lazy.filter { ($0.first ?? 0) & 0x1F == 7 }.compactMap { H264SequenceParameters(unit: $0) }.first
      .map { Picture($0.width, $0.height, $0.usability.pixel, $0.sampling) }
  }

  private static func picture(ofHEVC units: [ArraySlice<UInt8>]) -> Picture? {
    units.lazy.compactMap { HEVCSequenceParameters(unit: $0) }.first.map {
      Picture($0.width, $0.height, $0.usability.pixel, $0.sampling)
    }
  }
}

extension MediaWarning {
  static func changedCodec(_ first: String, _ other: String, _ what: String, fact: String) -> MediaWarning {
    MediaWarning(
      .contentChanges,
      "its \(what) changes from \(first) to \(other), which most players do not follow; the facts are those of its beginning",
      fact: fact, stated: .text(first), measured: .text(other))
  }

  static func changedSize(_ first: PixelSize, _ other: PixelSize) -> MediaWarning {
    MediaWarning(
      .contentChanges,
      "its pictures change their size from \(first) to \(other); the facts are those of its beginning",
      fact: "video", stated: .text("\(first)"), measured: .text("\(other)"))
  }

  /// Returns nil if both are the same shape.
  static func changedShape(_ first: SampleAspectRatio, _ other: SampleAspectRatio) -> MediaWarning? {
    guard abs(first.ratio.value / other.ratio.value - 1) > 0.01 else { return nil }
    return MediaWarning(
      .contentChanges,
      "its pixels change their shape from \(first) to \(other); the facts are those of its beginning",
      fact: "video.sampleAspectRatio", stated: .text("\(first)"), measured: .text("\(other)"))
  }

  /// Returns nil if both are the same, or one is not known.
  static func changedSampling(_ first: PictureSampling?, _ other: PictureSampling?) -> MediaWarning? {
    guard let first, let other, first != other else { return nil }
    return MediaWarning(
      .contentChanges,
      "its pictures change from \(first) to \(other), which not every player follows; the facts are those of its beginning",
      fact: "video.pixelFormat", stated: .text("\(first)"), measured: .text("\(other)"))
  }

  /// - Parameters:
  ///   - first: the range at the beginning; nil for standard range.
  ///   - other: the range that follows; nil for standard range.
  static func changedRange(_ first: HDR.Kind?, _ other: HDR.Kind?) -> MediaWarning {
    MediaWarning(
      .contentChanges,
      "its pictures change from \(first?.rawValue ?? "standard range") to \(other?.rawValue ?? "standard range"); the facts are those of its beginning",
      fact: "video.hdr", stated: first.map { .text($0.rawValue) }, measured: other.map { .text($0.rawValue) })
  }

  /// Returns nil if the two do not contradict each other.
  static func changedSound(_ first: SoundHeader, _ other: SoundHeader, place: Int) -> MediaWarning? {
    guard other.contradicts(first) else { return nil }
    let isOfChannels = other.channels != nil && other.channels != first.channels
    let (fact, before, then) =
      isOfChannels
      ? ("channels", first.channels, other.channels) : ("sampleRate", first.sampleRate, other.sampleRate)
    return MediaWarning(
      .contentChanges,
      "its sound changes its \(isOfChannels ? "channels" : "rate"); the facts are those of its beginning",
      fact: "audio.\(place).\(fact)", stated: before.map { .number(Double($0)) },
      measured: then.map { .number(Double($0)) })
  }
}

extension SoundHeader {
  /// Whether both state the channels or the rate, and differ in these.
  fileprivate func contradicts(_ other: SoundHeader) -> Bool {
    func differ(_ one: Int?, _ two: Int?) -> Bool { one != nil && two != nil && one != two }
    return differ(channels, other.channels) || differ(sampleRate, other.sampleRate)
  }
}
