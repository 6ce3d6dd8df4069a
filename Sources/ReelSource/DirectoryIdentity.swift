import Glibc
import ReelCore

/// Which directory it is, whatever it is called.
public struct DirectoryIdentity: Hashable, Sendable {
  /// Device number (`st_dev`).
  public let device: UInt64
  /// Inode number (`st_ino`).
  public let inode: UInt64

  /// From what `stat` says.
  public init(device: UInt64, inode: UInt64) {
    self.device = device
    self.inode = inode
  }

  /// The directory at `path`, links followed; nil when there is none (yet), or it can't be reached. Blocks.
  public init?(at path: SourcePath) {
    guard let name = try? PathBytes(path.bytes) else { return nil }
    var status = stat()
    guard stat(name.characters, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
    self.init(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
  }
}
