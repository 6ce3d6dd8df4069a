import CFFmpeg
import ReelCore

/// The pace of a sound's frames by the index of an ISO base media file. If each frame holds as many samples as the
/// codec's header says, the rate in that header is one claim, and the rate in the sample entry another.
struct SoundClock: Hashable {
  /// The samples per second that the codec's header states for what its frames hold.
  let stated: Int
  /// The same by the times of the frames.
  let measured: Int
  /// The rate in the sample entry, before or after a decoder doubles it.
  private let claimed: Int?

  /// How far a clock may deviate from a rate, as a share of it. Frames of 960 samples differ by more than that from
  /// frames of 1024 at the next rate.
  private static let tolerance = 0.01

  /// Returns nil if the frames differ in length, or in their times.
  init?(_ stream: StreamChoice.Stream, _ tracks: MovieTracks, _ iso: ISOFileMap) {
    guard let parameters = stream.pointee.codecpar, let track = tracks.track(of: stream),
      let (rate, length) = Self.frame(parameters.pointee.codec_id, BitstreamHeader.extradata(of: parameters)),
      let seconds = Self.seconds(track, iso.fragmentTable)
    else { return nil }
    let found = Double(length) / seconds
    guard (1...1e8).contains(found) else { return nil }
    let usual = AudioSpecificConfig.rates.first { abs(found / Double($0) - 1) < Self.tolerance / 2 }
    (stated, measured, claimed) = (rate, usual ?? Int(found.rounded()), track.entry?.sampleRate)
  }

  init?(_ stream: StreamChoice.Stream, _ structure: FileStructure) {
    guard let iso = structure.iso, let tracks = MovieTracks(structure) else { return nil }
    self.init(stream, tracks, iso)
  }

  /// Whether the codec's header and the times agree, with frames of either length.
  var agrees: Bool {
    let ratio = Double(measured) / Double(stated)
    let lengths: [Double] = [1, 960.0 / 1024, 1024.0 / 960]
    return lengths.contains { abs(ratio * $0 - 1) <= Self.tolerance }
  }

  /// Returns the rate that is heard. If the codec's header or its decoder states another rate, and the sample entry
  /// that of the times, the latter counts.
  func heard(insteadOf told: Int) -> Int {
    if agrees { return told }
    if claimed == measured { return told == 2 * stated && told != claimed ? 2 * measured : measured }
    return told == 2 * stated && claimed == 2 * measured ? 2 * measured : told
  }

  /// Whether a reported rate replaces the one in the codec's header.
  func isCorrected(_ told: Int?) -> Bool {
    !agrees && (claimed == measured || told == 2 * measured && told != stated && told != 2 * stated)
  }

  /// Returns the samples per second and the samples per frame.
  private static func frame(_ codec: AVCodecID, _ record: [UInt8]) -> (rate: Int, length: Int)? {
    let told: (Int, Int?)?
    switch codec {
    case AV_CODEC_ID_AAC: told = AudioSpecificConfig(record).map { ($0.coreRate, $0.frameLength) }
    case AV_CODEC_ID_ALAC: told = ALACConfiguration(record).map { ($0.sampleRate, $0.frameLength) }
    case AV_CODEC_ID_FLAC: told = FLACStreamInfo(record).map { ($0.sampleRate, $0.frameLength) }
    default: told = nil
    }
    return told.flatMap { told in told.1.map { (told.0, $0) } }
  }

  /// Whether frames of AAC follow one another as they do at `rate`, before or after it is doubled.
  static func confirms(_ rate: Int, of track: ISOTrack, _ fragments: MovieFragments?) -> Bool {
    guard let seconds = seconds(track, fragments) else { return false }
    return [1024.0, 2048, 960, 1920].contains { abs(Double(rate) * seconds / $0 - 1) <= tolerance }
  }

  /// Returns how many seconds each frame lasts, if they come evenly.
  static func seconds(_ track: ISOTrack, _ fragments: MovieFragments?) -> Double? {
    if let run = track.id.flatMap({ fragments?.runs[$0] }) {
      return run.steadySeconds ?? run.evenStep.flatMap(exact)
    }
    // A step of 1 means uncompressed sound, in which each sample has a time of its own.
    guard let scale = track.timescale, let told = track.times,
      let times = told.limited(to: track.counts.sizes ?? told.samples)
    else { return nil }
    guard let step = times.steadyStep else { return times.evenStep(scale: Int64(scale)).flatMap(exact) }
    return step > 1 ? Double(step) / Double(scale) : nil
  }

  /// Returns the step of times that are rounded; nil if they do not determine it precisely enough.
  private static func exact(_ step: ClosedRange<Double>) -> Double? {
    step.upperBound <= step.lowerBound * (1 + tolerance)
      ? (step.lowerBound + step.upperBound) / 2 : nil
  }
}
