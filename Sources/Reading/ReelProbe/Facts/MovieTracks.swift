import CFFmpeg
import FoundationEssentials
import ReelCore

/// The tracks of an ISO base media file, and the streams that FFmpeg has made of them.
struct MovieTracks {
  private let iso: ISOFileMap

  init?(_ structure: FileStructure) {
    guard let iso = structure.iso else { return nil }
    self.iso = iso
  }

  func track(of stream: StreamChoice.Stream) -> ISOTrack? {
    iso.track(UInt32(truncatingIfNeeded: stream.pointee.id))
  }

  /// Gives streams the codec records and the transfer functions of their first samples, if FFmpeg took those of
  /// another sample entry. Also gives streams of uncompressed sound the codec that their entry names: FFmpeg 5.1
  /// takes integers of other widths for 16-bit ones.
  func applyEntries(to streams: [StreamChoice.Stream]) {
    for stream in streams {
      if let codec = track(of: stream)?.entry?.plainCodec {
        stream.pointee.codecpar?.pointee.codec_id = codec
      }
      guard let track = track(of: stream), track.hasSeveralEntries,
        let parameters = stream.pointee.codecpar, let entry = track.entry
      else { continue }
      parameters.pointee.color_trc =
        entry.transfer.map { AVColorTransferCharacteristic(rawValue: $0) } ?? AVCOL_TRC_UNSPECIFIED
      guard track.hasLaterEntry else { continue }
      let record: [UInt8]? =
        switch parameters.pointee.codec_id {
        case AV_CODEC_ID_AAC: entry.decoderBytes
        case AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_AV1: entry.configuration
        default: nil
        }
      guard let record, !record.isEmpty,
        let memory = av_mallocz(record.count + Int(AV_INPUT_BUFFER_PADDING_SIZE))
      else { continue }
      memory.copyMemory(from: record, byteCount: record.count)
      av_free(parameters.pointee.extradata)
      parameters.pointee.extradata = memory.assumingMemoryBound(to: UInt8.self)
      parameters.pointee.extradata_size = Int32(record.count)
    }
  }

  /// Replaces the pixel shape that FFmpeg has computed, which ignores how the track is rotated.
  ///
  /// - Returns: the shape; nil for a stream without a track.
  @discardableResult func applyShape(to stream: StreamChoice.Stream) -> TrackShape? {
    guard let track = track(of: stream), let parameters = stream.pointee.codecpar else { return nil }
    let (width, height) = (Int(parameters.pointee.width), Int(parameters.pointee.height))
    let shape = TrackShape(
      track, width: width > 0 ? width : track.entry?.width ?? 0,
      height: height > 0 ? height : track.entry?.height ?? 0, own: parameters.pointee.sample_aspect_ratio)
    stream.pointee.sample_aspect_ratio = shape.pixel ?? AVRational(num: 0, den: 1)
    return shape
  }

  /// The seconds until the last sample that is seen or heard has been shown, by the tables of the index; nil if they
  /// leave it open.
  var measuredSeconds: Double? { untimed.isEmpty ? seconds { $0.isSeenOrHeard } : nil }

  /// The tracks of pictures and sound that have samples and a clock, but whose tables leave their duration open.
  var untimed: [ISOTrack] {
    guard iso.fragments == 0 else { return [] }
    return iso.tracks.filter {
      $0.isSeenOrHeard && $0.timescale != nil && $0.counts.sizes ?? 0 > 0
        && ($0.presentation == nil || $0.counts.sizes ?? 0 > 1 && $0.times?.total == 0)
    }
  }

  /// Whether no track has a sample and no fragments are to follow. The header of a stream may still state its total
  /// duration.
  var isEmpty: Bool { iso.hasNoSamples && !iso.promisesFragments }

  /// Whether a header that claims this many seconds means these tables: those of what is seen and heard, or all of
  /// them, because players and other readers continue until the last subtitle.
  func agree(with claimed: Double) -> Bool {
    guard let own = seconds({ $0.isSeenOrHeard }) else { return false }
    return Self.isNear(claimed, own) || meansAll(claimed) && claimed <= own * Self.longestRest
  }

  /// Whether the header means tracks of subtitles or metadata that last so long that they say nothing about the
  /// video.
  func areOutlasted(until claimed: Double) -> Bool { meansAll(claimed) && !agree(with: claimed) }

  /// Whether a header beside fragments means the duration of the samples in the index, as it should if it does not
  /// cover the fragments (8.8.2). FFmpeg counts to the key frame that begins the next fragment, although pictures of
  /// that fragment may be shown before it.
  func isOfIndex(_ claimed: Double) -> Bool {
    let lengths = iso.tracks.filter(\.isSeenOrHeard).compactMap { track -> (own: Double, most: Double)? in
      guard let scale = track.timescale, let times = track.times, let ticks = times.total, ticks > 0 else {
        return nil
      }
      let own = Double(ticks) / Double(scale)
      return (own, own + own * Self.mostReordered / Double(times.samples))
    }
    guard let longest = lengths.max(by: { $0.own < $1.own }) else { return false }
    return Self.isNear(claimed, longest.own) || (longest.own...longest.most).contains(claimed)
  }

  /// The most pictures that H.264 and HEVC may show in another order than that in which they are stored.
  private static let mostReordered = 16.0

  private func meansAll(_ claimed: Double) -> Bool {
    seconds { _ in true }.map { Self.isNear(claimed, $0) } == true
  }

  private static let longestRest = 1.5

  /// Whether both are equal to within a tenth of a second or a hundredth: movies count in larger ticks than their
  /// media, and pad their sound.
  static func isNear(_ claimed: Double, _ measured: Double) -> Bool {
    abs(claimed - measured) <= max(min(0.1, measured * 0.1), measured * 0.01)
  }

  private func seconds(_ counts: (ISOTrack) -> Bool) -> Double? {
    iso.tracks.filter(counts).compactMap(\.presentation)
      .map { $0.shown > 0 ? $0.seconds : $0.mediaSeconds }.filter { $0 > 0 }.max()
  }

  /// When it was created: by the movie, otherwise by the first track that states a date.
  var createdAt: Date? {
    MovieDate.date(iso.movieHeader?.created) ?? trackDates.first
  }

  /// The creation dates that the tracks of pictures and sound state.
  private var trackDates: [Date] {
    iso.tracks.filter(\.isSeenOrHeard).flatMap { [$0.created, $0.header?.created] }.compactMap(MovieDate.date)
  }

  /// The movie's date and a different one that a track states; nil if they are within two days of each other.
  var otherDate: (movie: Date, tracks: Date)? {
    guard let movie = MovieDate.date(iso.movieHeader?.created), let first = trackDates.first else {
      return nil
    }
    let day = 2 * 86_400.0
    guard trackDates.contains(where: { abs($0.timeIntervalSince(movie)) > day }) else { return nil }
    return (movie, trackDates.first { abs($0.timeIntervalSince(movie)) > day } ?? first)
  }

  var texts: MovieTexts { iso.texts }
}

extension ISOFileMap {
  /// Whether no track has a sample, as in the beginning of a stream whose samples are in other files.
  var hasNoSamples: Bool {
    fragments == 0 && !tracks.isEmpty && tracks.allSatisfy { $0.counts.sizes == 0 }
  }
}

extension SampleEntry {
  /// FFmpeg's codec for the numbers in which uncompressed sound is stored.
  var plainCodec: AVCodecID? {
    guard let plain else { return nil }
    return switch (format, plain.bits) {
    case ("ipcm", 16): plain.isLittleEndian ? AV_CODEC_ID_PCM_S16LE : AV_CODEC_ID_PCM_S16BE
    case ("ipcm", 24): plain.isLittleEndian ? AV_CODEC_ID_PCM_S24LE : AV_CODEC_ID_PCM_S24BE
    case ("ipcm", 32): plain.isLittleEndian ? AV_CODEC_ID_PCM_S32LE : AV_CODEC_ID_PCM_S32BE
    case ("fpcm", 32): plain.isLittleEndian ? AV_CODEC_ID_PCM_F32LE : AV_CODEC_ID_PCM_F32BE
    case ("fpcm", 64): plain.isLittleEndian ? AV_CODEC_ID_PCM_F64LE : AV_CODEC_ID_PCM_F64BE
    default: nil
    }
  }
}
