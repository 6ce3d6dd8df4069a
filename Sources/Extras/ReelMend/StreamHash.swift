import CFFmpeg
import CXXHash
import ReelCore
import ReelProbe

/// The digest of one stream, to which its packets are added as they are read.
final class StreamHash {
  private let state: OpaquePointer
  private let timeBase: AVRational
  private let kind: StreamDigest.Kind
  private let most: Int64?
  private let mediaTimeOnly: Bool
  private let shapeCounts: Bool
  /// The decoder of a cover whose metadata does not count.
  private let cover: CoverDecoder?
  private var packets: Int64 = 0
  /// The decoding time of the first packet.
  private var start: Int64?
  private var shown = ShownTime()

  /// - Parameters:
  ///   - most: the number of packets that count; nil for all.
  ///   - shapeCounts: whether the rotation and the pixel shape count.
  /// - Returns: nil if memory is short.
  init?(
    _ stream: UnsafeMutablePointer<AVStream>, seed: UInt64, most: Int64?, mediaTimeOnly: Bool,
    shapeCounts: Bool, metadataCounts: Bool
  ) {
    guard let state = reel_xxhash_new(seed) else { return nil }
    self.state = state
    self.most = most
    self.mediaTimeOnly = mediaTimeOnly
    self.shapeCounts = shapeCounts
    let isCover = stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC != 0
    cover = isCover && !metadataCounts ? CoverDecoder(stream) : nil
    timeBase = stream.pointee.time_base
    kind = StreamDigest.Kind(stream.pointee.codecpar.pointee.codec_type)
    add(parametersOf: stream)
  }

  deinit { reel_xxhash_free(state) }

  /// Whether no more packets count.
  var isFull: Bool { most.map { packets >= $0 } ?? false }

  func add(_ packet: UnsafePointer<AVPacket>) {
    guard !isFull else { return }
    packets += 1
    let packet = packet.pointee
    shown.add(packet)
    guard mediaTimeOnly else {
      add(packet.pts)
      add(packet.dts)
      add(packet.duration)
      return add(contentsOf: packet)
    }
    let first = start ?? (packet.dts == reel_no_time ? packet.pts : packet.dts)
    start = first
    add(since(first, packet.pts))
    add(since(first, packet.dts))
    add(contentsOf: packet)
  }

  private func since(_ first: Int64, _ time: Int64) -> Int64 {
    time == reel_no_time || first == reel_no_time ? time : time &- first
  }

  private func add(contentsOf packet: AVPacket) {
    // Only some containers state whether a packet is disposable, so that flag does not count.
    add(Int64(packet.flags & (AV_PKT_FLAG_KEY | AV_PKT_FLAG_DISCARD | AV_PKT_FLAG_CORRUPT)))
    if let cover, let pixels = cover.pixels(of: packet) {
      add(pixels, count: pixels.count)
    } else {
      add(packet.data, count: Int(packet.size))
    }
    for index in 0..<Int(max(0, packet.side_data_elems)) {
      guard let data = packet.side_data?[index] else { break }
      if mediaTimeOnly, data.type == AV_PKT_DATA_SKIP_SAMPLES {
        add(skipped: data)
      } else {
        add(Int64(data.type.rawValue))
        add(data.data, count: data.size)
      }
    }
    // Marks the end of the side data.
    add(-1)
  }

  /// Adds how much of the sound is skipped at a packet's beginning. Nothing counts the same as no statement. How much
  /// is skipped at its end follows from times, which FFmpeg 9 derives from a single index and not from fragments.
  private func add(skipped data: AVPacketSideData) {
    let count = min(4, data.size)
    let start = UnsafeBufferPointer(start: data.data, count: count)
    guard start.contains(where: { $0 != 0 }) else { return }
    add(Int64(data.type.rawValue))
    add(data.data, count: count)
  }

  /// - Parameter chapters: the chapters of the whole file.
  func finished(_ chapters: [String]) -> StreamDigest {
    for chapter in chapters { add(chapter) }
    var digest = [UInt8](repeating: 0, count: 16)
    reel_xxhash_digest(state, &digest)
    return StreamDigest(
      kind: kind, packets: packets, digest: digest, start: shown.start(timeBase), end: shown.end(timeBase))
  }

  /// Returns the beginning, the end and the title of each chapter.
  static func chapters(of context: UnsafePointer<AVFormatContext>) -> [String] {
    guard let list = context.pointee.chapters else { return [] }
    return (0..<Int(context.pointee.nb_chapters)).compactMap { list[$0]?.pointee }.map { chapter in
      let title = av_dict_get(chapter.metadata, "title", nil, 0)?.pointee.value.map { String(cString: $0) }
      let base = chapter.time_base
      return "\(chapter.start) \(chapter.end) \(base.num)/\(base.den) \(title ?? "")"
    }
  }

  /// Returns whether the stream is an attached file of Content Credentials.
  static func isManifest(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
    let parameters = stream.pointee.codecpar.pointee
    guard parameters.codec_type == AVMEDIA_TYPE_ATTACHMENT else { return false }
    let head = UnsafeBufferPointer(
      start: parameters.extradata, count: Int(max(0, min(64, parameters.extradata_size))))
    let type = av_dict_get(stream.pointee.metadata, "mimetype", nil, 0)?.pointee.value.map {
      String(cString: $0)
    }
    return ContentCredentials.isManifest(Array(head)[...])
      || type.map(ContentCredentials.isManifest(mediaType:)) ?? false
  }

  // MARK: Parts

  /// Adds what a decoder needs to know, and what a player needs to show the stream.
  private func add(parametersOf stream: UnsafeMutablePointer<AVStream>) {
    let parameters = stream.pointee.codecpar.pointee
    let numbers = [
      // No mend changes the time base of a stream.
      Int64(timeBase.num), Int64(timeBase.den),
      Int64(parameters.codec_type.rawValue), Int64(parameters.codec_id.rawValue), Int64(parameters.codec_tag),
      Int64(parameters.width), Int64(parameters.height), Int64(parameters.sample_rate),
      Int64(reel_channels(stream.pointee.codecpar)), Int64(stream.pointee.disposition),
    ]
    for number in numbers { add(number) }
    add(parameters.extradata, count: Int(parameters.extradata_size))
    let language = av_dict_get(stream.pointee.metadata, "language", nil, 0)?.pointee.value
    add(language.map { String(cString: $0) } ?? "")
    for type in 0..<Int(AV_PKT_DATA_NB.rawValue) {
      let type = AVPacketSideDataType(rawValue: .init(type))
      guard shapeCounts || type != AV_PKT_DATA_DISPLAYMATRIX else { continue }
      var size = 0
      guard let data = reel_side_data(stream, type, &size) else { continue }
      add(Int64(type.rawValue))
      add(data, count: size)
    }
    guard shapeCounts else { return }
    for shape in [stream.pointee.sample_aspect_ratio, parameters.sample_aspect_ratio] {
      add(Int64(shape.num))
      add(Int64(shape.den))
    }
  }

  private func add(_ number: Int64) {
    withUnsafeBytes(of: number.littleEndian) { reel_xxhash_add(state, $0.baseAddress, $0.count) }
  }

  private func add(_ bytes: UnsafePointer<UInt8>?, count: Int) {
    add(Int64(count))
    guard let bytes, count > 0 else { return }
    reel_xxhash_add(state, bytes, count)
  }

  private func add(_ text: String) {
    let bytes = Array(text.utf8)
    bytes.withUnsafeBufferPointer { add($0.baseAddress, count: $0.count) }
  }
}

extension StreamDigest.Kind {
  init(_ type: AVMediaType) {
    self =
      switch type {
      case AVMEDIA_TYPE_VIDEO: .video
      case AVMEDIA_TYPE_AUDIO: .audio
      case AVMEDIA_TYPE_SUBTITLE: .subtitle
      case AVMEDIA_TYPE_DATA: .data
      case AVMEDIA_TYPE_ATTACHMENT: .attachment
      default: .unknown
      }
  }
}
