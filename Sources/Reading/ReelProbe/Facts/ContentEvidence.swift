import CFFmpeg
import ReelCore

/// What the content of a file outside the MP4 family says about its duration, its pace and its sound, about which its
/// headers only make claims.
struct ContentEvidence {
  let structure: FileStructure
  let header: HeaderFacts
  let streams: StreamChoice
  let size: Int64
  /// The presentation times of its packets; nil if they are not known.
  let clock: ContentClock?
  /// The total time of its pictures and its sound by their times; nil if they have none.
  let sum: StretchSum?
  /// The time at which the last of their packets ends.
  let end: Double?
  /// The earliest and the latest moment at which that packet may end.
  let ends: ClosedRange<Double>?
  /// How many times faster the container's clock runs than that of the sound, each packet of which lasts as long as
  /// its codec says; 1 if they agree, or if there is no evidence.
  let speed: Double
  /// The sounds whose times contradict their codec's header, by the index of the stream.
  let falseSounds: [Int32: FalseSound]
  /// Whether the sound shows how fast the clock runs.
  let isClockHeard: Bool
  /// Whether the pace of a large file can be determined only from all of its packets. These were then examined,
  /// unless there are too many.
  let needsAll: Bool
  let isFar: Bool
  /// The numbers of the tracks that the header lists; nil if it has no list, or none is needed.
  let listed: Set<Int>?
  /// The first packets of a multiplex.
  let beginning: MultiplexBeginning?
  /// The size of the pictures that an FLV's `onMetaData` states.
  let metadataSize: PixelSize?
  /// The frames of an AVI, counted by their chunks; nil if its index and the header of their stream agree.
  let frames: AVIFrames?

  init(
    structure: FileStructure, header: HeaderFacts, streams: StreamChoice, size: Int64, clock: ContentClock?,
    file: some ByteReading
  ) {
    self.structure = structure
    self.header = header
    self.streams = streams
    self.size = size
    isFar = file.isFar
    listed =
      structure.matroska?.trackList?.numbers ?? (structure.container == .asf ? ASFFile.numbers(file) : nil)
    beginning =
      structure.container.isMPEG
      ? MultiplexBeginning(file, stride: TransportPackets.stride(file, structure.container)) : nil
    metadataSize = structure.container == .flv ? FLVFile.size(file) : nil
    needsAll = Self.needsAll(clock, streams, structure, isFar: file.isFar)
    let whole = needsAll ? ContentClock.read(file, structure, isWhole: true) : nil
    let clock = whole ?? clock
    self.clock = clock
    frames = streams.video.flatMap { Self.frames($0, structure, header, file) }
    let keys = (streams.videos + streams.audios).map {
      ContentClock.key(of: $0, among: streams, in: structure)
    }
    // Count pictures and sound only, as subtitles may stay for any time. Of scrambled streams only the times of the
    // whole program are known.
    let isKnown = !structure.hasScrambled(streams) && !keys.isEmpty && !keys.contains(nil)
    let own = isKnown ? Set(keys.compactMap { $0 }) : nil
    sum = clock?.sum(of: own)
    end = clock?.end(of: own)
    ends = clock?.ends(of: own)
    let isTimed = structure.container.isMatroska || structure.container == .flv
    let times = isTimed ? SoundTimes(clock, streams, structure, file) : nil
    let isRight = Self.isRight(clock, times, streams, structure, header)
    let heard = structure.container.isMatroska && !isRight ? times?.ordered.first?.ratio : nil
    speed = heard ?? 1
    isClockHeard = heard != nil || times?.ordered.contains(where: \.agrees) == true
    let told = structure.container == .flv ? FLVFile.metadata("audiosamplerate", of: file) : nil
    falseSounds = heard != nil ? [:] : Self.falseSounds(times, streams, structure, told)
  }

  /// Whether the sound gives no reason to correct the clock of the blocks. That is so if there is no evidence from
  /// sound, if one sound agrees with the clock, or if the rates that the header and the pictures state agree with the
  /// pictures' times as they are, and not with these times as corrected by the sound.
  private static func isRight(
    _ clock: ContentClock?, _ times: SoundTimes?, _ streams: StreamChoice, _ structure: FileStructure,
    _ header: HeaderFacts
  ) -> Bool {
    guard let times, let ratio = times.ordered.first?.ratio else { return true }
    if times.ordered.contains(where: \.agrees) { return true }
    guard let stream = streams.video, let key = ContentClock.key(of: stream, among: streams, in: structure),
      let pace = clock?.pace(of: key), pace.steps >= telling, !pace.isVariable
    else { return false }
    let stated = [header.rates[stream.pointee.index], BitstreamRate(stream)?.rate].compactMap { $0?.value }
    func agree(with found: Double, not other: Double) -> Bool {
      stated.contains { BitstreamRate.isNear($0, found, than: other) }
    }
    let slowed = pace.ordinary * ratio
    return agree(with: pace.ordinary, not: slowed) && !agree(with: slowed, not: pace.ordinary)
  }

  /// Returns the sounds whose times contradict their codec's header.
  ///
  /// - Parameter claimed: the rate that an FLV's `onMetaData` states.
  private static func falseSounds(
    _ times: SoundTimes?, _ streams: StreamChoice, _ structure: FileStructure, _ claimed: Double?
  ) -> [Int32: FalseSound] {
    var found: [Int32: FalseSound] = [:]
    for stream in streams.audios {
      guard let pace = times?.paces[stream.pointee.index], !pace.agrees,
        let parameters = stream.pointee.codecpar
      else { continue }
      let told = SoundHeader(
        parameters.pointee.codec_id, record: BitstreamHeader.extradata(of: parameters))?.sampleRate
      let measured = told.flatMap { pace.rate(insteadOf: $0) }
      let isClaimed =
        measured.flatMap { rate in
          claimed.map {
            Int($0.rounded()) == rate || Int($0.rounded()) == 2 * rate && told != 2 * rate
          }
        } ?? false
      found[stream.pointee.index] = FalseSound(
        pace: pace, isConfirmed: structure.container.isMatroska || isClaimed)
    }
    return found
  }

  /// Whether the pace can be determined only from all packets, because frames come unevenly or the clock jumps.
  private static func needsAll(
    _ clock: ContentClock?, _ streams: StreamChoice, _ structure: FileStructure, isFar: Bool
  ) -> Bool {
    guard let clock, !clock.isWhole, !isFar, !structure.container.isMPEG, let stream = streams.video,
      let key = ContentClock.key(of: stream, among: streams, in: structure)
    else { return false }
    return clock.isUneven(key) || (clock.extents[key]?.stretches.count ?? 0) > 1
  }

  func key(of stream: StreamChoice.Stream) -> ContentClock.Key? {
    ContentClock.key(of: stream, among: streams, in: structure)
  }
}

extension MediaWarning {
  /// - Parameter jumps: how often the clock restarts.
  static func clockJumps(_ jumps: Int) -> MediaWarning {
    MediaWarning(
      .clockJumps,
      jumps == 1
        ? "its clock starts anew once; both stretches are added up"
        : "its clock starts anew \(jumps) times; the stretches are added up", fact: "duration",
      measured: .number(Double(jumps)))
  }
}
