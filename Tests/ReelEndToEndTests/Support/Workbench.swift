import Foundation
import ReelTestSupport

/// A folder for one test with a library and clips of its own, deleted with this object.
final class Workbench: Sendable {
  let folder: URL
  var library: URL { folder.appendingPathComponent("library") }
  let clips: URL
  var media: URL { library.appendingPathComponent("media") }

  /// The worker that reads the videos.
  enum Reader {
    case real
    /// A worker that believes what the file says. It starts in a fraction of the time because it loads no FFmpeg. It
    /// serves campaigns that start Reel hundreds of times and do not test reading. Their long form uses the real one.
    case fake
  }
  private let reader: Reader

  /// The environment for every run of the binary.
  var environment: [String: String] {
    var environment = hasPosters ? ["REEL_POSTERS": "wanted"] : [:]
    if reader == .fake {
      environment["REEL_WORKER"] = ReelBinary.folder.appendingPathComponent("reel-sabotaged-worker").path
    }
    return environment
  }
  /// Whether posts get posters.
  private let hasPosters: Bool

  /// - Parameter shared: Clips elsewhere, which must not be changed; nil for an empty folder `clips`.
  init(clips shared: URL? = nil, reader: Reader = .real, hasPosters: Bool = false) throws {
    self.hasPosters = hasPosters
    self.reader = TestForm.isLong ? .real : reader
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("reel-test-\(UUID().uuidString)")
    clips = shared ?? folder.appendingPathComponent("clips")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try FileManager.default.createDirectory(at: clips, withIntermediateDirectories: true)
  }

  /// Makes `count` clips and waits for longer than the 2 s in which a change of a file might not show. Only settled
  /// files are remembered by their status.
  static func settled(_ count: Int, reader: Reader = .real) async throws -> Workbench {
    let bench = try Workbench(reader: reader)
    try bench.addDistinct(count)
    try await Task.sleep(for: .microseconds(Int(2_300_000)))
    return bench
  }

  deinit {
    try? FileManager.default.removeItem(at: folder)
  }

  /// Returns the path of a sample in `Samples/`, such as `clips/faststart.mp4`.
  static func sample(_ name: String) -> URL {
    ReelBinary.project.appendingPathComponent("Samples").appendingPathComponent(name)
  }

  /// Copies a sample into the clips, under its own or another name.
  func add(_ sample: String, as name: String? = nil) throws {
    let source = Self.sample(sample)
    let target = clips.appendingPathComponent(name ?? source.lastPathComponent)
    try FileManager.default.createDirectory(
      at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
    try FileManager.default.copyItem(at: source, to: target)
  }

  /// Creates the library's folder, empty.
  func makeEmptyLibrary() throws {
    try FileManager.default.createDirectory(
      at: library, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  func write(_ text: String, to name: String) throws {
    try Data(text.utf8).write(to: clips.appendingPathComponent(name))
  }

  /// Makes `count` unique videos: a sample followed by a `free` box, which every reader skips.
  func addDistinct(_ count: Int, of sample: String = "clips/faststart.mp4", from first: Int = 0) throws {
    let base = try reader == .real ? Data(contentsOf: Self.sample(sample)) : Self.readByDouble
    for number in first..<first + count {
      var box = Data([0, 0, 0, 24]) + Data("free".utf8)
      box += Data(String(format: "%016d", number).utf8)
      try (base + box).write(to: clips.appendingPathComponent(String(format: "clip-%05d.mp4", number)))
    }
  }

  /// As much of an MP4 as the sniffer reads, the order to take it for a video, and as many bytes as a small video has.
  private static let readByDouble =
    Data([0, 0, 0, 24]) + Data("ftypisom".utf8) + Data(count: 4) + Data("isomiso2".utf8)
    + Data([0, 0, 0, 8]) + Data("moovvideo ".utf8) + Data(count: 10_000)

  func reel(_ arguments: String..., environment: [String: String] = [:]) async throws -> ReelBinary.Outcome {
    let readsFilesAlone = ["probe", "mend", "sheet", "version"].contains(arguments.first)
    return try await ReelBinary.run(
      arguments + (readsFilesAlone ? [] : ["--library", library.path]), in: folder,
      environment: self.environment.merging(environment) { $1 })
  }

  /// The names of the objects in the library's own store.
  func objects() throws -> Set<String> {
    guard FileManager.default.fileExists(atPath: media.path) else { return [] }
    return Set(
      try FileManager.default.contentsOfDirectory(atPath: media.path).filter { !$0.hasPrefix(".") })
  }
}
