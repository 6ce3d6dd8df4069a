import FoundationEssentials
import ReelCore
import ReelCrypto
import ReelIngest
import ReelLibrary
import ReelSource
import ReelStorage
import ReelTestSupport
import Synchronization

/// Says of every file what the test wants, without looking at it.
final class ScriptedProber: MediaProber {
  typealias Look = @Sendable (SourceFile) throws(ProbeError) -> Void
  typealias Script = @Sendable (SourceFile) throws(ProbeError) -> MediaInfo
  typealias CancellableScript = @Sendable (SourceFile, CancellationFlag) throws(ProbeError) -> MediaInfo
  private let script: CancellableScript
  private let installation: ProbeError?
  private let look: Look?
  private let count = Mutex(0)

  var calls: Int { count.withLock { $0 } }

  init(
    installation: ProbeError? = nil, _ script: @escaping Script = { ScriptedProber.video($0) },
    look: Look? = nil
  ) {
    self.script = { file, _ throws(ProbeError) in try script(file) }
    self.look = look
    self.installation = installation
  }

  init(cancellable script: @escaping CancellableScript) {
    self.script = script
    (look, installation) = (nil, nil)
  }

  static func video(_ file: SourceFile) -> MediaInfo {
    var media = MediaInfo(container: .mp4, size: file.size)
    var video = VideoFacts()
    video.width = 640
    video.height = 480
    video.hasSamples = true
    media.video = video
    media.title = "from the file"
    return media
  }

  func probe(
    _ file: SourceFile, sniffed container: MediaContainer?, patience: Duration?,
    cancellation: CancellationFlag
  ) throws(ProbeError) -> ProbeProgress {
    count.withLock { $0 += 1 }
    return .done(
      ProbeReport(
        media: try script(file, cancellation),
        provenance: ProbeProvenance(method: .full, isolation: .none, ffmpeg: "0.0.0")))
  }

  var firstLookVersion: ReaderVersion? { look == nil ? nil : ReaderVersion(reel: "test", ffmpeg: "") }

  func firstLook(at file: SourceFile) throws(ProbeError) -> MediaContainer? {
    try look?(file)
    return nil
  }

  func readerVersion(cancellation: CancellationFlag) throws(ProbeError) -> ReaderVersion {
    if let installation { throw installation }
    return ReaderVersion(reel: "test", ffmpeg: "0.0.0")
  }
}

/// Wraps an uploader to break it.
struct BrokenUploader: Uploader {
  let base: any Uploader
  var isLatencyBound = false
  let onUpload: @Sendable (ObjectKey) async throws(UploadError) -> Void

  var traits: UploadTraits {
    var traits = base.traits
    traits.isLatencyBound = isLatencyBound || traits.isLatencyBound
    return traits
  }
  var destination: Destination { base.destination }

  func prepare() async throws(UploadError) { try await base.prepare() }

  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    try await onUpload(key)
    return try await base.upload(source, to: key, reporting: reporting)
  }

  func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? { try await base.find(key) }
  func remove(_ key: ObjectKey) async throws(UploadError) { try await base.remove(key) }
  func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? { try await base.readBack(key) }
}

/// Bytes in memory, as something to upload.
extension MemoryBytes {
  static func source(_ text: String) throws(UploadError) -> UploadSource {
    let content = Array(text.utf8)
    guard let digest = ContentDigest(sha256: SHA256.hash(data: content)) else {
      throw UploadError(.rejected, "SHA-256 has 32 bytes")
    }
    return UploadSource(
      size: Int64(content.count), digest: digest, contentType: "video/mp4",
      bytes: MemoryBytes(bytes: content))
  }
}

/// A folder of files for one test; gone with it.
final class ClipFolder {
  let path: String

  init(_ names: [String] = []) {
    path = FreshFolder.make()
    for name in names { add(name, "bytes of \(name)") }
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  func add(_ name: String, _ text: String) {
    try? Data(text.utf8).write(to: URL(filePath: path + "/" + name))
  }

  var input: SourceInput { SourceInput(path: SourcePath(path)) }

  func file(_ name: String) -> SourceInput { SourceInput(path: SourcePath(path + "/" + name)) }
}

private enum FreshFolder {
  static func make() -> String {
    let folder = FileManager.default.temporaryDirectory.path + "/reel-ingest-\(UUID().uuidString)"
    try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    return folder
  }
}
