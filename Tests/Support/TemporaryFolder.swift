import Foundation

/// A folder of a test's own, removed with everything in it when the last reference is released.
package final class TemporaryFolder: Sendable {
  package let path: String

  package init() throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "reel-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.path
  }

  deinit {
    // Foundation can't remove a name that is not UTF-8.
    if (try? FileManager.default.removeItem(atPath: path)) != nil { return }
    let removal = Process()
    removal.executableURL = URL(filePath: "/bin/rm")
    removal.arguments = ["-rf", "--", path]
    try? removal.run()
    removal.waitUntilExit()
  }

  package func path(of name: String) -> String { path + "/" + name }

  /// The names in the folder `name` below this one, sorted.
  package func names(in name: String = "") throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path(of: name)).sorted()
  }

  /// Writes a file, and creates the folders on the way to it.
  package func write(_ bytes: some Sequence<UInt8>, to name: String) throws {
    let url = URL(filePath: path(of: name))
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: url)
  }
}
