import CFFmpeg
import ReelCore

/// How long packets of sound last by the times of a Matroska file or an FLV, compared with how long they last by
/// their codec.
struct SoundTimes {
  /// The pace of one sound.
  struct Pace: Hashable {
    /// How many times longer its packets last by their times than by their codec; 1 if they differ by no more than
    /// rounding.
    let ratio: Double
    /// Whether its codec has only one rate, so that the times can't mean another.
    let hasFixedRate: Bool

    var agrees: Bool { ratio == 1 }

    /// Returns the rate that the times give, if the codec states `stated`; nil for one that no sound has.
    func rate(insteadOf stated: Int) -> Int? {
      let found = Double(stated) / ratio
      return hasFixedRate ? nil : Self.usual.first { abs(found / Double($0) - 1) < 0.01 }
    }

    private static let usual = [192_000, 176_400] + AudioSpecificConfig.rates
  }

  /// The paces by the index of the stream, of those sounds that can be measured.
  let paces: [Int32: Pace]
  /// The same paces, in the order of the file.
  let ordered: [Pace]

  /// The fewest steps that allow a conclusion.
  private static let steps = 8
  /// The share by which a clock may be off, as a duration may, if there is at least a second of it; then the share
  /// for less than that.
  private static let tolerance = 0.01
  private static let toleranceOfFew = 0.03

  init(_ clock: ContentClock?, _ streams: StreamChoice, _ structure: FileStructure, _ file: some ByteReading)
  {
    var (paces, ordered): ([Int32: Pace], [Pace]) = ([:], [])
    for stream in streams.audios {
      // If parts of the file overlap in time, their packets are interleaved.
      guard let clock, !clock.overlaps, let parameters = stream.pointee.codecpar,
        let key = ContentClock.key(of: stream, among: streams, in: structure), !clock.shared.contains(key),
        case let first = clock.firsts[key].map({ Self.bytes(at: $0, of: key, structure, file) }) ?? [],
        let seconds = SoundFrame.seconds(parameters, first: first),
        let pace = clock.pace(of: key), pace.steps >= Self.steps,
        // A live stream may lack sound here and there.
        structure.container.isMatroska || !pace.isVariable && streams.audios.count == 1,
        CodecSign.otherSound(than: parameters.pointee.codec_id, packet: first) == nil
      else { continue }
      let (found, average) = (1 / (pace.ordinary * seconds), 1 / (pace.average * seconds))
      guard found.isFinite, found > 0 else { continue }
      // If packets come in bursts, their usual step may be slightly off, but their average then differs from it.
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

  /// Whether packets differ in duration by their codec, as those of Opus may, and have the same total duration by
  /// their times.
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

  /// Returns the bytes of a packet; none if it is stored in another form.
  private static func bytes(
    at range: Range<Int64>, of key: ContentClock.Key, _ structure: FileStructure, _ file: some ByteReading
  ) -> [UInt8] {
    guard structure.matroska?.tracks.first(where: { $0.number == key })?.isEncoded != true else { return [] }
    return file.bytes(at: range.lowerBound, count: min(range.count, SoundFrame.longest))
  }
}

/// Sound whose packets have other times than its codec gives them, although the clock is right.
struct FalseSound: Hashable {
  let pace: SoundTimes.Pace
  /// Whether something other than the times confirms their rate.
  let isConfirmed: Bool

  /// Returns the rate that counts if the codec states `told`.
  func rate(insteadOf told: Int) -> Int { isConfirmed ? pace.rate(insteadOf: told) ?? told : told }
}
