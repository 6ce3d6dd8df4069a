import CFFmpeg
import ReelCore

/// How long packets of sound last by the times of a Matroska file or an FLV, against how long they last by their codec.
struct SoundTimes {
  /// Of one sound.
  struct Pace: Hashable {
    /// By how much longer its packets last by their times than by their codec; 1 for no more than rounding.
    let ratio: Double
    /// Whether its codec has one rate only, so that these are none of it.
    let hasFixedRate: Bool

    var agrees: Bool { ratio == 1 }

    /// The rate that they have by their times, where they have another one by their codec; nil for one that no sound has.
    func rate(insteadOf stated: Int) -> Int? {
      let found = Double(stated) / ratio
      return hasFixedRate ? nil : Self.usual.first { abs(found / Double($0) - 1) < 0.01 }
    }

    private static let usual = [192_000, 176_400] + AudioSpecificConfig.rates
  }

  /// By the index of the stream; of those whose packets tell.
  let paces: [Int32: Pace]
  /// In the order of the file.
  let ordered: [Pace]

  /// Packets that it takes.
  private static let steps = 8
  /// By which share a clock may be off: as a duration may, where there is a second of it at least.
  private static let tolerance = 0.01
  private static let toleranceOfFew = 0.03

  init(_ clock: ContentClock?, _ streams: StreamChoice, _ structure: FileStructure, _ file: some ByteReading)
  {
    var (paces, ordered): ([Int32: Pace], [Pace]) = ([:], [])
    for stream in streams.audios {
      // Where parts are of the same moments, packets of several come between those of one.
      guard let clock, !clock.overlaps, let parameters = stream.pointee.codecpar,
        let key = ContentClock.key(of: stream, among: streams, in: structure), !clock.shared.contains(key),
        case let first = clock.firsts[key].map({ Self.bytes(at: $0, of: key, structure, file) }) ?? [],
        let seconds = SoundFrame.seconds(parameters, first: first),
        let pace = clock.pace(of: key), pace.steps >= Self.steps,
        // Sound of a live stream is missing here and there.
        structure.container.isMatroska || !pace.isVariable && streams.audios.count == 1,
        CodecSign.otherSound(than: parameters.pointee.codec_id, packet: first) == nil
      else { continue }
      let (found, average) = (1 / (pace.ordinary * seconds), 1 / (pace.average * seconds))
      guard found.isFinite, found > 0 else { continue }
      // Of times that come in fits and starts the ordinary step may be a little off; their average is not then.
      let isOff =
        abs(found - 1) > Self.toleranceOfFew
        || Double(pace.steps) > pace.ordinary && abs(found - 1) > Self.tolerance
          && abs(average / found - 1) < Self.tolerance / 2
      let isMixed = isOff && Self.isMixed(parameters, clock, key, structure, file, first: seconds)
      let own = Pace(
        ratio: isOff && !isMixed ? found : 1,
        hasFixedRate: parameters.pointee.codec_id == AV_CODEC_ID_OPUS)
      paces[stream.pointee.index] = own
      ordered.append(own)
    }
    (self.paces, self.ordered) = (paces, ordered)
  }

  /// Whether packets differ in length by their codec, as those of Opus may, and last as long together by their times.
  private static func isMixed(
    _ parameters: UnsafeMutablePointer<AVCodecParameters>, _ clock: ContentClock, _ key: ContentClock.Key,
    _ structure: FileStructure, _ file: some ByteReading, first: Double
  ) -> Bool {
    var (times, frames, differ) = (0.0, 0.0, false)
    for packet in clock.samples[key]?.packets ?? [] {
      guard let step = packet.step,
        let own = SoundFrame.seconds(parameters, first: bytes(at: packet.bytes, of: key, structure, file))
      else { continue }
      (times, frames) = (times + Double(step) * av_q2d(clock.base), frames + own)
      differ = differ || abs(own - first) > toleranceOfFew * first
    }
    return differ && abs(times - frames) <= toleranceOfFew * frames
  }

  /// Of a packet; nothing where it is stored in another form.
  private static func bytes(
    at range: Range<Int64>, of key: ContentClock.Key, _ structure: FileStructure, _ file: some ByteReading
  ) -> [UInt8] {
    guard structure.matroska?.tracks.first(where: { $0.number == key })?.isEncoded != true else { return [] }
    return file.bytes(at: range.lowerBound, count: min(range.count, SoundFrame.longest))
  }
}

/// Sound whose packets have other times than its codec gives them, where it is not the clock that is wrong.
struct FalseSound: Hashable {
  let pace: SoundTimes.Pace
  /// Whether something other than the times tells that their rate is the right one.
  let isConfirmed: Bool

  /// The rate that counts where the codec tells another one.
  func rate(insteadOf told: Int) -> Int { isConfirmed ? pace.rate(insteadOf: told) ?? told : told }
}
