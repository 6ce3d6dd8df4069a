import Glibc
import ReelTestSupport

/// A small in-memory file system, mounted for the lifetime of this value. Only root can mount one.
final class MountedFolder: Sendable {
  let path: String

  /// Whether this process may mount.
  static let isPossible: Bool = {
    guard let folder = try? TemporaryFolder() else { return false }
    return (try? MountedFolder(at: folder, bytes: 1 << 20)) != nil
  }()

  struct NotAllowed: Error {}

  private let folder: TemporaryFolder

  init(at folder: TemporaryFolder, bytes: Int) throws {
    self.folder = folder
    path = folder.path(of: "mounted")
    guard mkdir(path, 0o700) == 0, mount("tmpfs", path, "tmpfs", 0, "size=\(bytes)") == 0 else {
      throw NotAllowed()
    }
  }

  /// Remounts the file system read-only.
  func makeReadOnly() throws {
    // A child process that another test is starting keeps files open for writing until its exec.
    for _ in 0..<60_000 {
      if mount("tmpfs", path, "tmpfs", UInt(MS_REMOUNT | MS_RDONLY), nil) == 0 { return }
      guard errno == EBUSY else { break }
      usleep(10_000)
    }
    throw NotAllowed()
  }

  deinit {
    umount2(path, Int32(MNT_DETACH))
  }

  static func device(_ path: String) -> dev_t? {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_dev : nil
  }
}
