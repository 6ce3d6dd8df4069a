import CFFmpeg
import ReelCore

/// The facts of an encrypted ISO base media file that FFmpeg does not open: its tables and the headers of its codecs are in
/// the clear (ISO/IEC 23001-7).
struct EncryptedMovie {
  private let structure: FileStructure
  private let iso: ISOFileMap
  private let tracks: MovieTracks
  private let file: BoundedSource
  private var fragments: MovieFragments? { iso.fragmentTable }

  /// Nil for a file that is not encrypted, or not all there.
  init?(_ structure: FileStructure, _ file: BoundedSource) {
    guard let iso = structure.iso, iso.encrypted, iso.movie != nil, !iso.movieIsCut,
      let tracks = MovieTracks(structure), iso.tracks.contains(where: \.isSeenOrHeard)
    else { return nil }
    (self.structure, self.iso, self.tracks, self.file) = (structure, iso, tracks, file)
  }

  var media: MediaInfo {
    var media = MediaInfo(container: structure.container, size: file.size)
    media.encrypted = true
    media.external = iso.external
    media.fastStart = iso.fastStart
    media.fragmented = iso.fragments > 0
    media.truncated = iso.endsBeyondFile
    media.hasCover = false
    media.take(iso.disclosures)
    (media.title, media.artist, media.createdAt) = (tracks.title, tracks.artist, tracks.createdAt)
    let measured = iso.fragments > 0 ? fragmentSeconds : tracks.measuredSeconds
    let claimed = iso.movieHeader?.seconds ?? iso.fragmentsSeconds
    let found =
      FoundDuration(measured, iso.fragments > 0 ? .packets : .stream, size: file.size)
      ?? FoundDuration(claimed, .container, size: file.size)
    (media.duration, media.durationSource) = (found?.seconds, found?.source)
    media.bitRate = found.map { Int64((Double(file.size) * 8 / $0.seconds).rounded()) }
    let videos = iso.tracks.filter { $0.handler == "vide" }
    media.video = (videos.first { $0.header?.isEnabled == true } ?? videos.first).map {
      video($0, streams: videos.count)
    }
    media.audio = iso.tracks.filter { $0.handler == "soun" }.map(sound)
    return media
  }

  private var fragmentSeconds: Double? {
    iso.tracks.compactMap { track -> Double? in
      guard let id = track.id, let run = fragments?.runs[id], let scale = track.timescale else { return nil }
      return Double(run.ticks) / Double(scale)
    }.max()
  }

  private func video(_ track: ISOTrack, streams: Int) -> VideoFacts {
    var video = VideoFacts()
    (video.streams, video.hasCover) = (streams, false)
    let codec = Self.codec(track, avformat_get_mov_video_tags())
    video.codec = VideoFacts.codecName(codec)
    (video.storedWidth, video.storedHeight) = (track.entry?.width, track.entry?.height)
    if codec == AV_CODEC_ID_H264, let record = track.entry?.configuration,
      let set = AVCConfiguration(record)?.sequenceParameterSets.first,
      let sequence = H264SequenceParameters(unit: set)
    {
      (video.storedWidth, video.storedHeight) = (sequence.width, sequence.height)
    }
    guard let width = video.storedWidth, let height = video.storedHeight else { return video }
    let shape = TrackShape(track, width: width, height: height)
    video.sampleAspectRatio = shape.pixel.flatMap { Rational(Int($0.num), Int($0.den)) }.map(
      SampleAspectRatio.init)
    let turn = track.header.map { DisplayRotation(matrix: $0.matrix) } ?? DisplayRotation.none
    (video.rotation, video.mirrored) = (turn?.rotation, turn?.mirrored)
    let shown = DisplaySize(
      storedWidth: width, storedHeight: height, pixel: video.sampleAspectRatio,
      stretchDown: shape.stretchDown,
      swapped: turn?.swapsSides ?? false)
    (video.width, video.height) = (shown?.width, shown?.height)
    takeRate(track, into: &video)
    return video
  }

  private func takeRate(_ track: ISOTrack, into video: inout VideoFacts) {
    if let run = track.id.flatMap({ fragments?.runs[$0] }) {
      video.takeRates(run.rate, ordinary: run.ordinaryRate)
      video.hasSamples = run.samples > 0
    } else if let presentation = track.presentation {
      video.takeRates(presentation.rate, ordinary: presentation.ordinaryRate)
      video.hasSamples = presentation.samples > 0
    }
  }

  private func sound(_ track: ISOTrack) -> AudioFacts {
    let codec = Self.codec(track, avformat_get_mov_audio_tags())
    let header = Self.header(track)
    return AudioFacts(
      codec: VideoFacts.codecName(codec), channels: header?.channels ?? track.entry?.channels,
      sampleRate: header?.sampleRate ?? track.entry?.sampleRate)
  }

  private static func header(_ track: ISOTrack) -> SoundHeader? {
    guard let entry = track.entry else { return nil }
    let record = entry.decoderBytes ?? entry.configuration ?? []
    switch entry.original ?? entry.format {
    case "mp4a": return AudioSpecificConfig(record)?.sound
    default: return entry.dolbySound
    }
  }

  /// FFmpeg's number for what a track was before it was encrypted.
  private static func codec(_ track: ISOTrack, _ tags: OpaquePointer?) -> AVCodecID {
    guard let entry = track.entry else { return AV_CODEC_ID_NONE }
    let lists = [tags, nil]
    return lists.withUnsafeBufferPointer {
      av_codec_get_id($0.baseAddress, (entry.original ?? entry.format).value.byteSwapped)
    }
  }
}

extension SampleEntry {
  /// What the record of AC-3 or E-AC-3 says; nil for other sound.
  var dolbySound: SoundHeader? {
    guard let configuration else { return nil }
    switch original ?? format {
    case "ac-3": return DolbyFrame.sound(dac3: configuration)
    case "ec-3": return DolbyFrame.sound(dec3: configuration)
    default: return nil
    }
  }
}
