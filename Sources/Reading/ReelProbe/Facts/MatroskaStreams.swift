import CFFmpeg
import ReelCore

extension MatroskaFileMap {
  /// The tracks of which FFmpeg makes streams, without repetitions.
  var tracks: [MatroskaTrackList.Number] {
    var seen: Set<Int> = []
    return (trackList?.made ?? []).filter { seen.insert($0.number).inserted }
  }

  /// Sets the frame rates that the tracks state, if FFmpeg has rounded them. It makes fractions with terms of at most
  /// 30,000, and so changes 60000/1001.
  func applyRates(to streams: [StreamChoice.Stream]) {
    guard let made = trackList?.made, !made.isEmpty else { return }
    for (place, stream) in streams.enumerated() {
      let track = made[place % made.count]
      let own = stream.pointee.avg_frame_rate
      guard stream.pointee.codecpar?.pointee.codec_type == AVMEDIA_TYPE_VIDEO, track.type == 1,
        let rate = track.frameDuration.flatMap(Self.rate(lasting:)), own.num > 0, own.den > 0,
        abs(av_q2d(rate) / av_q2d(own) - 1) < 1e-4
      else { continue }
      if av_cmp_q(stream.pointee.r_frame_rate, own) == 0 { stream.pointee.r_frame_rate = rate }
      stream.pointee.avg_frame_rate = rate
    }
  }

  /// Returns the rate of film or television, or the whole number, at which a frame lasts this many nanoseconds,
  /// however they were rounded; nil if there is none.
  static func rate(lasting nanoseconds: UInt64) -> AVRational? {
    let step = Double(nanoseconds)
    guard step >= 1e9 / ContentEvidence.fastest, step <= 1e9 else { return nil }
    for unit in [1.0, 1001.0] {
      let parts = unit == 1 ? 1e9 : 1e6 * unit
      let number = (parts / step).rounded()
      guard abs(parts / number - step) <= 1 else { continue }
      return unit == 1
        ? AVRational(num: Int32(number), den: 1) : AVRational(num: Int32(number) * 1000, den: 1001)
    }
    return nil
  }
}

extension StreamChoice {
  /// Creates the choice without streams that FFmpeg has made of a track a second time.
  init(_ streams: [Stream], of structure: FileStructure) {
    if let named = structure.namedCodecs?.pictures {
      self.init(Self.withoutNumbered(streams, named.id))
    } else {
      self.init(structure.matroska?.trackList.map { Self.eachOnce(streams, $0.made) } ?? streams)
    }
  }

  /// Returns the streams without superfluous ones. If an FLV's video codec has a name, FFmpeg before 6.1 makes a
  /// stream for each kind of packet.
  private static func withoutNumbered(_ streams: [Stream], _ codec: AVCodecID) -> [Stream] {
    let pictures = streams.filter {
      $0.pointee.codecpar?.pointee.codec_type == AVMEDIA_TYPE_VIDEO && !isAttached($0)
    }
    let known = pictures.filter { $0.pointee.codecpar.pointee.codec_id == codec }
    let own = codec == AV_CODEC_ID_NONE ? Array(pictures.prefix(1)) : known.isEmpty ? pictures : known
    return streams.filter { own.contains($0) || !pictures.contains($0) }
  }

  /// Returns one stream per track. A track that is listed twice becomes two streams, of which the first has all
  /// packets. If an element of the header is damaged, FFmpeg may read the elements before it again.
  private static func eachOnce(_ streams: [Stream], _ made: [MatroskaTrackList.Number]) -> [Stream] {
    let tracks = streams.filter { !isAttached($0) }
    let isAnew =
      !made.isEmpty && tracks.count % made.count == 0
      && tracks.enumerated().allSatisfy { $1.pointee.isLike(tracks[$0 % made.count].pointee) }
    guard !made.isEmpty, tracks.count == made.count || isAnew else { return streams }
    var seen: Set<Int> = []
    let own = Set(
      tracks.enumerated().filter { seen.insert(made[$0.offset % made.count].number).inserted }.map(\.element))
    return streams.filter { own.contains($0) || isAttached($0) }
  }

  private static func isAttached(_ stream: Stream) -> Bool {
    stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC != 0
      || stream.pointee.codecpar?.pointee.codec_type == AVMEDIA_TYPE_ATTACHMENT
  }
}

extension AVStream {
  /// Whether both were made from tracks that say the same.
  fileprivate func isLike(_ other: AVStream) -> Bool {
    guard let one = codecpar?.pointee, let two = other.codecpar?.pointee else { return false }
    return one.codec_type == two.codec_type && one.codec_id == two.codec_id
      && one.extradata_size == two.extradata_size
  }
}
