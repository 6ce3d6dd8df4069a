import CFFmpeg
import ReelCore

// The facts that a track's tables and its codec's record tell if FFmpeg reads no packet of it.

extension VideoFacts {
  init(_ track: ISOTrack, _ fragments: MovieFragments?, streams: Int) {
    self.init()
    (self.streams, hasCover) = (streams, false)
    let id = track.codec(avformat_get_mov_video_tags())
    codec = Self.codecName(id)
    takeRates(track, fragments)
    guard let stored = Self.stored(track.entry, id) else { return }
    (storedWidth, storedHeight) = (stored.width, stored.height)
    let shape = TrackShape(track, width: stored.width, height: stored.height)
    sampleAspectRatio = shape.pixel.flatMap { Rational(Int($0.num), Int($0.den)) }.map(SampleAspectRatio.init)
    let turn = track.header.map { DisplayRotation(matrix: $0.matrix) } ?? DisplayRotation.none
    (rotation, mirrored) = (turn?.rotation, turn?.mirrored)
    let shown = DisplaySize(
      storedWidth: stored.width, storedHeight: stored.height, pixel: sampleAspectRatio,
      stretchDown: shape.stretchDown, swapped: turn?.swapsSides ?? false)
    (width, height) = (shown?.width, shown?.height)
  }

  /// Returns nil if only one side is stated, which is no size, and for a size that no codec stores.
  private static func stored(_ entry: SampleEntry?, _ codec: AVCodecID) -> (width: Int, height: Int)? {
    let set = codec == AV_CODEC_ID_H264 ? entry?.configuration.flatMap { AVCConfiguration($0) } : nil
    let sequence = set?.sequenceParameterSets.first.flatMap { H264SequenceParameters(unit: $0) }
    guard let width = sequence?.width ?? entry?.width, let height = sequence?.height ?? entry?.height,
      let sides = side(width).flatMap({ across in side(height).map { (across, $0) } })
    else { return nil }
    return sides
  }

  private mutating func takeRates(_ track: ISOTrack, _ fragments: MovieFragments?) {
    if let run = track.id.flatMap({ fragments?.runs[$0] }) {
      takeRates(run.rate, ordinary: run.ordinaryRate)
      hasSamples = run.samples > 0
    } else if let presentation = track.presentation {
      takeRates(presentation.rate, ordinary: presentation.ordinaryRate)
      hasSamples = presentation.samples > 0
    }
  }
}

extension AudioFacts {
  init(_ track: ISOTrack) {
    let header = track.entry?.soundHeader
    // Applies the limits of what sound may have.
    let stated = SoundHeader(channels: track.entry?.channels, sampleRate: track.entry?.sampleRate)
    self.init(
      codec: VideoFacts.codecName(track.codec(avformat_get_mov_audio_tags())),
      channels: header?.channels ?? stated.channels, sampleRate: header?.sampleRate ?? stated.sampleRate)
  }
}

extension ISOTrack {
  /// Whether FFmpeg reads no sample of it: of sample entries of different formats it uses only the first.
  func isPassedOver(by stream: StreamChoice.Stream) -> Bool {
    hasLaterEntry && presentation.map { $0.samples > 0 } ?? false
      && avformat_index_get_entries_count(stream) == 0
  }

  /// Returns FFmpeg's number for its codec; if it is encrypted, for the codec before encryption.
  fileprivate func codec(_ tags: OpaquePointer?) -> AVCodecID { entry?.codec(tags) ?? AV_CODEC_ID_NONE }
}

extension SampleEntry {
  /// Returns FFmpeg's number for its codec; if it is encrypted, for the codec before encryption.
  func codec(_ tags: OpaquePointer?) -> AVCodecID {
    let lists = [tags, nil]
    return lists.withUnsafeBufferPointer {
      av_codec_get_id($0.baseAddress, (original ?? format).value.byteSwapped)
    }
  }

  /// The size of its pictures, by the codec's own record if that states it.
  var pictureSize: PixelSize? {
    let record = configuration ?? []
    if let set = AVCConfiguration(record)?.sequenceParameterSets.first,
      let told = H264SequenceParameters(unit: set)
    {
      return PixelSize(width: told.width, height: told.height)
    }
    return width.flatMap { width in height.map { PixelSize(width: width, height: $0) } }
  }

  /// The high dynamic range that its transfer function implies; nil if it implies none.
  var range: HDR.Kind? { transfer.flatMap { [16: .pq, 18: .hlg][$0] } }

  var soundHeader: SoundHeader? {
    let record = decoderBytes ?? configuration ?? []
    return (original ?? format) == "mp4a" ? AudioSpecificConfig(record)?.sound : dolbySound
  }
}
