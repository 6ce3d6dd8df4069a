import Foundation
import ReelTestServers
import Testing

/// A program for the tests, as a user might write it.
enum Script {
  /// Writes an executable file, which replaces one that is there.
  static func write(_ text: String, to file: URL) throws {
    let new = file.appendingPathExtension("new")
    // A child forked meanwhile would inherit the descriptor that is open for writing, and the script could not be
    // started.
    try Spawning.alone { try Data(text.utf8).write(to: new) }
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: new.path)
    try #require(rename(new.path, file.path) == 0)
  }
}
