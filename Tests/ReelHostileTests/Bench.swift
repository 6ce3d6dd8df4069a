import Foundation
import ReelHostileFiles
import ReelTestSupport

/// A folder for one test, removed with this value.
final class Bench {
  let folder: URL
  var files: URL { folder.appendingPathComponent("files") }
  var library: URL { folder.appendingPathComponent("library") }

  /// - Parameter hostile: The files to write into ``files``.
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

  /// Made once, because it takes seconds.
  private static let made = Result { try HostileSet(samples: samples) }
  static func hostileSet() throws -> HostileSet { try made.get() }

  /// All files in a long campaign, otherwise one in `step`.
  static func some(_ files: [HostileFile], oneIn step: Int) -> [HostileFile] {
    TestForm.isLong ? files : stride(from: 0, to: files.count, by: step).map { files[$0] }
  }

  /// Whether the workers run under a sanitizer; they do not if `REEL_WORKERS` names a folder with others.
  static var hasSanitizedWorkers: Bool { TestForm.isSanitized && ReelRun.workers == nil }

  func reel(_ arguments: String..., through wrapper: [String] = []) throws -> ReelRun {
    try ReelRun.run(arguments, in: folder, through: wrapper)
  }
}
