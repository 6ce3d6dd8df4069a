import Foundation
import Glibc

/// A small file system in memory, for tests that may mount one.
final class TinyDisk: Sendable {
  let path: String

  /// Returns nil if this process may not mount.
  init?(kilobytes: Int) {
    path = NSTemporaryDirectory() + "reel-disk-\(UUID().uuidString)"
    guard mkdir(path, 0o700) == 0 else { return nil }
    guard mount("tmpfs", path, "tmpfs", 0, "size=\(kilobytes)k,mode=700") == 0 else {
      rmdir(path)
      return nil
    }
  }

  deinit {
    umount2(path, Int32(MNT_DETACH))
    rmdir(path)
  }

  /// Whether this process may mount.
  static var isPossible: Bool { TinyDisk(kilobytes: 64) != nil }

  func makeReadOnly() -> Bool {
    mount("tmpfs", path, "tmpfs", UInt(MS_REMOUNT | MS_RDONLY), nil) == 0
  }

  /// Fills the remaining space.
  func fill() {
    let file = open(path + "/filler", O_WRONLY | O_CREAT | O_APPEND, 0o600)
    let zeros = [UInt8](repeating: 0, count: 4096)
    while write(file, zeros, zeros.count) > 0 {}
    close(file)
  }

  func free() {
    unlink(path + "/filler")
  }
}
