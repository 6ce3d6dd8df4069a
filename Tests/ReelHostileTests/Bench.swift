import Foundation
import ReelHostileFiles

/// A folder for one test; gone with it.
final class Bench {
  let folder: URL
  var files: URL { folder.appendingPathComponent("files") }
  var library: URL { folder.appendingPathComponent("library") }

  /// - Parameter hostile: what to write into ``files``.
  init(_ hostile: [HostileFile] = []) throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "reel-hostile-\(UUID().uuidString)"
    )
    .resolvingSymlinksInPath()
    try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
    try HostileFolder.write(hostile, into: files)
  }

  deinit {
    try? FileManager.default.removeItem(at: folder)
  }

  static var samples: URL { ReelRun.project.appendingPathComponent("Samples") }

  /// Made once: it takes seconds.
  private static let made = Result { try HostileSet(samples: samples) }
  static func hostileSet() throws -> HostileSet { try made.get() }

  /// All of them in a long campaign, else one in `step`.
  static func some(_ files: [HostileFile], oneIn step: Int) -> [HostileFile] {
    isLong ? files : stride(from: 0, to: files.count, by: step).map { files[$0] }
  }

  /// The project's long campaigns are for `scripts/test --long`.
  static var isLong: Bool { ProcessInfo.processInfo.environment["REEL_LONG"] == "1" }

  /// Whether the programs were built with a sanitizer (`scripts/test --long`): they take more memory and time than a
  /// user's, and a confined one dies of another thing when it aborts.
  static var isSanitized: Bool { ProcessInfo.processInfo.environment["REEL_SANITIZER"] != nil }

  /// Whether the sabotaged worker is one of them; it is not where `REEL_WORKERS` names a folder with another.
  static var hasSanitizedWorkers: Bool { isSanitized && ReelRun.workers == nil }

  func reel(_ arguments: String..., through wrapper: [String] = []) throws -> ReelRun {
    try ReelRun.run(arguments, in: folder, through: wrapper)
  }
}
