import FoundationEssentials

/// A folder of a test's own, removed with this value.
final class TemporaryFolder: Sendable {
  let path: String

  struct NotMade: Error {
    let name: String
  }

  init() throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "reel-system-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.path
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  /// The names in the folder, sorted.
  func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path).sorted()
  }

  /// Makes an empty file.
  func make(_ name: String) throws {
    guard FileManager.default.createFile(atPath: path + "/" + name, contents: nil) else {
      throw NotMade(name: name)
    }
  }
}
