import CFFmpeg

/// A file's streams, sorted by what they are to a viewer.
struct StreamChoice {
  typealias Stream = UnsafeMutablePointer<AVStream>

  /// Every stream, in the order of the file.
  let all: [Stream]
  /// Moving pictures: neither covers nor thumbnails of chapters.
  let videos: [Stream]
  private(set) var audios: [Stream]
  /// Still pictures that are attached as covers.
  let covers: [Stream]
  /// The indexes of videos without a single packet in the file, if there are packets of others.
  private(set) var absent: Set<Int32> = []
  /// The number of videos. A multiplex may list streams that are not on air; of these, only those in the file count.
  private(set) var countOfVideos: Int

  init(_ streams: [Stream]) {
    all = streams
    let pictures = streams.filter { Self.type($0) == AVMEDIA_TYPE_VIDEO }
    covers = pictures.filter {
      Self.has($0, AV_DISPOSITION_ATTACHED_PIC) && !Self.has($0, AV_DISPOSITION_TIMED_THUMBNAILS)
    }
    videos = pictures.filter { !Self.has($0, AV_DISPOSITION_ATTACHED_PIC) }
    audios = streams.filter { Self.type($0) == AVMEDIA_TYPE_AUDIO }
    countOfVideos = videos.count
  }

  /// Whether a still picture is attached as a cover.
  var hasCover: Bool { !covers.isEmpty }

  /// The stream that a player would show: of those marked as default, otherwise of all, the first that is more than
  /// one still picture, otherwise the first. A stream without a sample is skipped if headers count the samples of
  /// another, or if packets of another were seen.
  var video: Stream? {
    let isCounted = videos.contains { $0.pointee.nb_frames > 0 }
    let held = videos.filter {
      if absent.contains($0.pointee.index) { return false }
      return !isCounted || $0.pointee.nb_frames > 0 || avformat_index_get_entries_count($0) > 0
    }
    let marked = held.filter { Self.has($0, AV_DISPOSITION_DEFAULT) }
    let shown = marked.isEmpty ? held : marked
    return shown.first { !isStill($0) } ?? shown.first
  }

  /// Determines by the clock which videos have no packets. Those of a scrambled video can't be seen. A multiplex may
  /// also list sound that is not on air, or that a recorder has left out; it is dropped if FFmpeg has found nothing
  /// about it, either.
  mutating func take(_ clock: ContentClock?, in structure: FileStructure) {
    guard let clock, structure.encrypted != true else { return }
    func isAbsent(_ stream: Stream) -> Bool {
      guard !structure.isScrambled(stream), let key = ContentClock.key(of: stream, among: self, in: structure)
      else { return false }
      return !clock.hasSeen(key)
    }
    let absent = videos.filter(isAbsent)
    if absent.count < videos.count { self.absent = Set(absent.map(\.pointee.index)) }
    guard structure.container.isMPEG else { return }
    countOfVideos = videos.count - self.absent.count
    let heard = audios.filter {
      !isAbsent($0) || reel_channels($0.pointee.codecpar) > 0 || $0.pointee.codecpar.pointee.sample_rate > 0
    }
    if !heard.isEmpty { audios = heard }
  }

  /// Whether a stream is a single picture, as far as its header tells.
  private func isStill(_ stream: Stream) -> Bool {
    if stream.pointee.nb_frames > 0 { return stream.pointee.nb_frames == 1 }
    // If no header counts the pictures: a codec for still ones, and at most one picture in the index.
    return Self.stills.contains(stream.pointee.codecpar.pointee.codec_id.rawValue)
      && avformat_index_get_entries_count(stream) <= 1
  }

  private static let stills: Set<UInt32> = Set(
    [
      AV_CODEC_ID_MJPEG, AV_CODEC_ID_PNG, AV_CODEC_ID_BMP, AV_CODEC_ID_TIFF, AV_CODEC_ID_WEBP,
      AV_CODEC_ID_GIF,
    ]
    .map(\.rawValue))

  /// Whether a stream is encrypted, which FFmpeg's Matroska demuxer reports by a tag or by side data.
  var isEncrypted: Bool {
    all.contains { stream in
      var size = 0
      return av_dict_get(stream.pointee.metadata, "enc_key_id", nil, 0) != nil
        || reel_side_data(stream, AV_PKT_DATA_ENCRYPTION_INIT_INFO, &size) != nil
    }
  }

  private static func type(_ stream: Stream) -> AVMediaType { stream.pointee.codecpar.pointee.codec_type }

  private static func has(_ stream: Stream, _ disposition: Int32) -> Bool {
    stream.pointee.disposition & disposition != 0
  }
}

extension FileStructure {
  /// Whether the payload of a stream is scrambled.
  func isScrambled(_ stream: StreamChoice.Stream) -> Bool {
    scrambling?.streams.contains(Int(stream.pointee.id) & 0x1fff) ?? false
  }

  /// Whether decoding a stream requires a key. The headers of its packets, and of its pictures, may be in the clear.
  private func isEncrypted(_ stream: StreamChoice.Stream) -> Bool {
    guard scrambling != nil, let parameters = stream.pointee.codecpar?.pointee else { return false }
    return isScrambled(stream) || Self.encryptedKinds[parameters.codec_tag] == parameters.codec_id
  }

  /// The types of streams whose samples are encrypted within packets that are not scrambled ("MPEG-2 Stream
  /// Encryption Format for HTTP Live Streaming").
  private static let encryptedKinds: [UInt32: AVCodecID] = [
    0xDB: AV_CODEC_ID_H264, 0xCF: AV_CODEC_ID_AAC, 0xC1: AV_CODEC_ID_AC3, 0xC2: AV_CODEC_ID_EAC3,
  ]

  /// Whether the payload of any pictures or sound is scrambled.
  func hasScrambled(_ streams: StreamChoice) -> Bool {
    (streams.videos + streams.audios).contains(where: isScrambled)
  }

  /// Whether a key is required to show the pictures, or to hear any of the sound; nil if the container does not say.
  /// Other programs in a transport stream may still be encrypted.
  func isEncrypted(_ streams: StreamChoice) -> Bool? {
    guard scrambling != nil, encrypted == false else { return encrypted }
    return streams.video.map(isEncrypted) == true
      || !streams.audios.isEmpty && streams.audios.allSatisfy(isEncrypted)
  }
}
