import Foundation
import Glibc
import ReelCore
import ReelTestSupport
import Testing

extension TemporaryFolder {
  var source: SourcePath { SourcePath(path) }

  func source(_ name: String) -> SourcePath { source.appending(name.utf8) }

  /// Writes a file, and creates the folders on the way to it.
  @discardableResult
  func write(_ name: String, _ bytes: [UInt8] = Sample.mp4) throws -> SourcePath {
    try write(bytes, to: name)
    return source(name)
  }

  /// Writes a file with any bytes as its name.
  @discardableResult
  func write(nameBytes: [UInt8], _ bytes: [UInt8] = Sample.mp4) throws -> SourcePath {
    let path = source.appending(nameBytes)
    let descriptor = open(
      path.bytes.map { CChar(bitPattern: $0) } + [0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    try #require(Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
    return path
  }

  /// Sets a file's time to 2020. A file written right after it could otherwise have the same time, where clocks tick
  /// coarsely, and even the same inode number.
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
