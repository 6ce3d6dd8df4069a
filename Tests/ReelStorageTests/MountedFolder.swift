import Glibc
import ReelTestSupport

/// A small file system in memory, for as long as this lives. Only root can have one.
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

  /// Nothing can be written from now on.
  func makeReadOnly() throws {
    // A process that another test is just starting holds what was open for writing, until its exec.
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
