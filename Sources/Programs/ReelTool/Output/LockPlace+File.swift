import Glibc
import ReelCore
import ReelSource
import ReelTerminal
import ReelUpkeep
import ReelValidation

extension LockPlace {
  init(path: String) { self.init(path: path, workingFolder: WorkingFolder.path()) }

  /// `FOLDER/reel.lock`; nil unless `paths` names exactly one folder.
  static func usual(for paths: [String]) -> String? {
    guard paths.count == 1, let folder = try? RawArguments.place(paths[0]), !folder.isEmpty,
      RawArguments.path(paths[0]).fileKind == S_IFDIR
    else { return nil }
    return folder + (folder.hasSuffix("/") ? "" : "/") + "reel.lock"
  }

  /// In bytes; enough for some 200,000 files.
  private static let largest = 256 << 20

  /// Reads the lock; nil when there is none yet.
  /// - Throws: ``CommandFailure`` when it can't be read or understood.
  mutating func read() throws -> LockFile? {
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try UserFile.read(path, upTo: Self.largest)
    } catch {
      if error.code == ENOENT { return nil }
      throw CommandFailure(.couldNotRun, "the lock file \(path) can't be read: \(error.reason)")
    }
    let lock = try orCommandFailure { () throws(LockError) in
      try LockFile(text: bytes)
    } told: {
      "the lock file \(path) can't be used: \(told($0))"
    }
    note(lock)
    return lock
  }

  /// Writes the lock whole or not at all, following symbolic links.
  /// - Throws: ``CommandFailure``.
  func write(_ lock: LockFile) throws {
    let file = try WholeFile(at: path)
    try file.write(LockText.text(lock))
    try file.finish(durably: true)
  }
}
