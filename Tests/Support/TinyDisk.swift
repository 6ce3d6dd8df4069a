import Foundation
import Glibc

/// A file system of some kilobytes in memory, for tests that may mount one (`.needsMounting`).
package final class TinyDisk: Sendable {
  package let path: String

  /// Returns nil if this process may not mount.
  package init?(kilobytes: Int) {
    path = FileManager.default.temporaryDirectory.path + "/reel-disk-\(UUID().uuidString)"
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

  static let isPossible = TinyDisk(kilobytes: 64) != nil

  package func makeReadOnly() -> Bool {
    // A child process that another test is starting keeps files open for writing until its exec.
    for _ in 0..<60_000 {
      if mount("tmpfs", path, "tmpfs", UInt(MS_REMOUNT | MS_RDONLY), nil) == 0 { return true }
      guard errno == EBUSY else { break }
      usleep(10_000)
    }
    return false
  }

  package func grow(kilobytes: Int) -> Bool {
    mount("tmpfs", path, "tmpfs", UInt(MS_REMOUNT), "size=\(kilobytes)k") == 0
  }

  /// Fills the remaining space.
  package func fill() {
    let file = open(path + "/filler", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    let zeros = [UInt8](repeating: 0, count: 4096)
    while write(file, zeros, zeros.count) > 0 {}
    close(file)
  }

  package func free() {
    unlink(path + "/filler")
  }
}
