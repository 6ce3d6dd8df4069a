import Foundation
import ReelCore
import ReelCrypto
import ReelIngest
import ReelLibrary
import ReelSource
import ReelStorage
import ReelTestSupport
import Synchronization

/// One video and one library in a folder of the test's own, and the real pipeline between them and a store.
package final class PublishScene: Sendable {
  package let folder: String
  package let digest: ContentDigest
  private let file: String
  private let randomness: SeededRandomness
  private let hasPoster: Bool

  private static let poster = Array("the poster of every video".utf8)
  /// The digest of the poster of every video.
  package static let posterDigest = ContentDigest(digest: SHA256.hash(data: poster))

  /// - Parameters:
  ///   - size: the size of the video in bytes.
  ///   - hasPoster: whether the post is to have a poster.
  ///   - seed: determines its bytes and the random numbers of the pipeline.
  package init(size: Int, hasPoster: Bool = false, seed: UInt64) throws {
    self.hasPoster = hasPoster
    folder = FileManager.default.temporaryDirectory.path + "/reel-faults-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    file = folder + "/clip.mp4"
    randomness = SeededRandomness(seed: seed)
    var draws = SplitMix64(seed: seed)
    let bytes = draws.bytes(size)
    try Data(bytes).write(to: URL(filePath: file))
    guard let digest = ContentDigest(sha256: SHA256.hash(data: bytes)) else {
      preconditionFailure("no SHA-256")
    }
    self.digest = digest
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  package var library: String { folder + "/library" }

  /// Publishes the video as `reel publish` does: verified, retried (without waiting), and recorded in the catalog.
  package func publish(
    _ makeStore: @Sendable (SQLiteCatalog) async throws -> (any Uploader, (any PostRecorder)?)
  ) async throws -> PublishResult {
    let catalog = try await SQLiteCatalog.open(
      library: try await LibraryFolder.prepare(at: library), randomness: randomness)
    let (store, recorder) = try await makeStore(catalog)
    let uploader = VerifyingUploader(
      base: RetryingUploader(base: store, clock: HurriedClock(), randomness: randomness))
    let services = IngestServices(
      prober: TrustingProber(), posters: OnePoster(jpeg: Self.poster), uploader: uploader,
      recorder: recorder.map {
        RetryingRecorder(base: $0, clock: HurriedClock(), randomness: randomness)
      }, catalog: catalog, randomness: randomness)
    let path = SourcePath(file)
    var options = IngestOptions()
    options.posters = hasPoster ? .wanted : .none
    let model = await MediaModel(file: SourceInput(path: path), options: options, services: services)
    let result = await model.publish()
    try await catalog.close()
    return result
  }
}

/// Takes every file for a small video.
private struct TrustingProber: MediaProber {
  func probe(
    _ file: SourceFile, sniffed container: MediaContainer?, patience: Duration?,
    cancellation: CancellationFlag
  ) throws(ProbeError) -> ProbeProgress {
    var media = MediaInfo(container: .mp4, size: file.size)
    var video = VideoFacts()
    (video.width, video.height, video.hasSamples) = (640, 480, true)
    media.video = video
    return .done(
      ProbeReport(
        media: media, provenance: ProbeProvenance(method: .full, isolation: .none, ffmpeg: "0.0.0")))
  }

  func readerVersion(cancellation: CancellationFlag) throws(ProbeError) -> ReaderVersion {
    ReaderVersion(reel: "test", ffmpeg: "0.0.0")
  }
}

/// Gives every video the same poster.
private struct OnePoster: PosterMaker {
  let jpeg: [UInt8]

  func poster(
    of file: SourceFile, sniffed container: MediaContainer?, options: PosterOptions,
    cancellation: CancellationFlag
  ) throws(PosterError) -> Poster {
    Poster(
      jpeg: jpeg, width: 16, height: 9, blurHash: "L3F~gYof00ayayj[fQj[00fQ?bfQ", isCover: false, time: nil)
  }
}

/// A clock on which every wait ends at once, and can still be cancelled.
package struct HurriedClock: Clock {
  package var now: ContinuousClock.Instant { .now }
  package var minimumResolution: Duration { .nanoseconds(1) }

  package init() {}

  package func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    try Task.checkCancellation()
    await Task.yield()
  }
}
