import FoundationEssentials
import ReelCore
import ReelIngest
import ReelTestSupport

/// Values as hostile and absurd as their types permit.
enum RandomValues {
  static func path(_ random: inout SplitMix64) -> SourcePath {
    if random.chance(10) {
      return SourcePath(bytes: (0..<9).map { _ in UInt8.random(in: 1...255, using: &random) })
    }
    return SourcePath(HostileText.draw(&random))
  }

  static func file(_ random: inout SplitMix64) -> FileReference {
    FileReference(number: Int.random(in: 1...1_000_000, using: &random), path: path(&random))
  }

  static func bytes(_ random: inout SplitMix64) -> Int64 {
    let bits = Int64.random(in: 0...62, using: &random)
    return Int64.random(in: 0...(1 << bits), using: &random)
  }

  static func count(_ random: inout SplitMix64) -> Int {
    random.chance(40) ? 0 : Int(bytes(&random) >> 20)
  }

  static func state(_ random: inout SplitMix64) -> IngestState {
    var state = IngestState()
    state.phase = .running
    state.dryRun = random.chance(20)
    state.scanComplete = random.chance(50)
    (state.found, state.foundBytes) = (count(&random), bytes(&random) >> 4)
    (state.published, state.duplicates, state.refused) = (count(&random), count(&random), count(&random))
    (state.failed, state.planned, state.doneBytes) = (count(&random), count(&random), bytes(&random) >> 4)
    state.inFlight = (0..<Int.random(in: 0...12, using: &random)).map { _ in inFlight(&random) }
    return state
  }

  private static func inFlight(_ random: inout SplitMix64) -> FileInFlight {
    let transfer = TransferProgress(
      sent: bytes(&random) >> 8, total: bytes(&random) >> 8, attempt: random.chance(90) ? 2 : .max)
    let steps: [FileInFlight.Step] = [.reading, .probed, .named, .uploading(transfer), .retrying(transfer)]
    return FileInFlight(
      file: file(&random), size: random.maybe(17), step: steps[Int.random(in: steps.indices, using: &random)])
  }

  static func throughput(_ random: inout SplitMix64) -> RunThroughputParts {
    RunThroughputParts(
      bytesPerSecond: random.maybe(Double(bytes(&random))), filesPerSecond: random.maybe(0.37),
      secondsLeft: random.maybe(Double.random(in: 0...360_000, using: &random)))
  }

  /// The parts of a `RunThroughput`.
  struct RunThroughputParts {
    let bytesPerSecond: Double?
    let filesPerSecond: Double?
    let secondsLeft: Double?
  }

  static func failure(_ random: inout SplitMix64) -> FileFailure {
    FileFailure(code: "corrupt", message: HostileText.draw(&random))
  }

  /// An event that ends its file or reports a retry.
  static func end(_ random: inout SplitMix64) -> IngestEvent {
    let file = file(&random)
    let violations = [PolicyViolation(rule: "video.none", message: HostileText.draw(&random))]
    let error = UploadError(.interrupted, HostileText.draw(&random))
    let bodies: [IngestEvent.Body] = [
      .fileFailed(file, failure(&random)),
      .fileRefused(file, FileRefused(code: .policy, violations: violations)),
      .fileDuplicate(file, FileDuplicate(post: nil)),
      .filePlanned(file, FilePlanned(media: media(&random), metadata: words(&random))),
      .uploadRetrying(file, TransferProgress(sent: 0, total: 9, attempt: 2, retrying: error)),
    ]
    return Samples.event(bodies[Int.random(in: bodies.indices, using: &random)])
  }

  static func words(_ random: inout SplitMix64) -> PostMetadata {
    PostMetadata(
      authorID: random.maybe(HostileText.draw(&random)), authorName: random.maybe(HostileText.draw(&random)),
      caption: random.maybe(HostileText.draw(&random)), music: random.maybe(HostileText.draw(&random)))
  }

  static func media(_ random: inout SplitMix64) -> MediaInfo {
    var media = MediaInfo(container: .mp4, size: bytes(&random))
    media.duration = random.maybe(Double.random(in: 0.001...31_000_000, using: &random))
    media.durationSource = media.duration.map { _ in .estimated }
    media.truncated = random.maybe(random.chance(50))
    media.title = random.maybe(HostileText.draw(&random))
    media.artist = random.maybe(HostileText.draw(&random))
    media.createdAt = random.maybe(
      Date(timeIntervalSince1970: Double.random(in: -1e11...1e11, using: &random)))
    media.contentIdentifier = random.maybe(HostileText.draw(&random))
    media.warnings = random.chance(30) ? [MediaWarning(.truncated, HostileText.draw(&random))] : []
    media.video = random.chance(80) ? video(&random) : nil
    media.audio =
      random.chance(50) ? [AudioFacts(codec: HostileText.draw(&random), channels: .max, sampleRate: 1)] : []
    return media
  }

  private static func video(_ random: inout SplitMix64) -> VideoFacts {
    var video = random.chance(50) ? Samples.video : VideoFacts()
    video.codec = random.maybe(HostileText.draw(&random))
    video.profile = random.maybe(HostileText.draw(&random))
    video.pixelFormat = random.maybe(HostileText.draw(&random))
    (video.width, video.height) = (random.maybe(.max), 1)
    return video
  }
}
