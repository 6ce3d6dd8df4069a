import FoundationEssentials

/// A folder of a test's own, removed with this value.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "reel-uploading-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.path
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  func path(of name: String) -> String { path + "/" + name }

  /// The names in the folder `name` below this one, sorted.
  func names(in name: String = "") throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path(of: name)).sorted()
  }

  /// Whether `name` is empty, or is so soon: an uploader's lock goes with the last thread that holds the uploader, a
  /// moment after the upload has returned.
  func becomesEmpty(_ name: String) async throws -> Bool {
    for _ in 0..<1000 {
      if try names(in: name).isEmpty { return true }
      try await Task.sleep(for: .milliseconds(10))
    }
    return false
  }

  func write(_ bytes: some Sequence<UInt8>, to name: String) throws {
    try Data(bytes).write(to: URL(filePath: path(of: name)))
  }
}
