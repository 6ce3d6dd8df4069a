import Foundation
import Glibc
import ReelCore
import Testing

/// A folder of its own for a test, removed with everything in it when the last reference goes.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    var template = Array((NSTemporaryDirectory() + "/reel-source-XXXXXX").utf8CString)
    guard let created = mkdtemp(&template) else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    path = String(cString: created)
  }

  deinit {
    let removal = Process()
    removal.executableURL = URL(filePath: "/bin/rm")
    removal.arguments = ["-rf", "--", path]
    try? removal.run()
    removal.waitUntilExit()
  }

  var source: SourcePath { SourcePath(path) }

  func source(_ name: String) -> SourcePath { source.appending(name.utf8) }

  /// Writes a file, and the folders on the way to it.
  @discardableResult
  func write(_ name: String, _ bytes: [UInt8] = Sample.mp4) throws -> SourcePath {
    let url = URL(filePath: path + "/" + name)
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: url)
    return source(name)
  }

  /// Writes a file whose name is any bytes.
  @discardableResult
  func write(nameBytes: [UInt8], _ bytes: [UInt8] = Sample.mp4) throws -> SourcePath {
    let path = source.appending(nameBytes)
    let descriptor = open(path.bytes.map { CChar(bitPattern: $0) } + [0], O_WRONLY | O_CREAT | O_EXCL, 0o600)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    try #require(Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
    return path
  }

  /// Lets a file be of 2020: one that is written at once after it could have its time, where time goes in ticks, and
  /// even its number.
  func age(_ name: String) throws {
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1_600_000_000)], ofItemAtPath: path + "/" + name)
  }

  func folder(_ name: String) throws {
    try FileManager.default.createDirectory(atPath: path + "/" + name, withIntermediateDirectories: true)
  }

  func fifo(_ name: String) throws {
    try #require(mkfifo(path + "/" + name, 0o600) == 0)
  }

  func link(_ name: String, to target: String) throws {
    try #require(symlink(target, path + "/" + name) == 0)
  }

  func remove(_ name: String) throws {
    try FileManager.default.removeItem(atPath: path + "/" + name)
  }
}

/// The beginnings of files.
enum Sample {
  static let mp4: [UInt8] =
    [0, 0, 0, 16] + Array("ftypisom".utf8) + [0, 0, 0, 0] + [0, 0, 0, 8] + Array("mdat".utf8)
  static let text = Array("Nothing to see here.\n".utf8)
}
