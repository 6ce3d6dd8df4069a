/// What distinguishes one state of a file from any other: if any of these values changes, the bytes may have
/// changed, too.
public struct FileIdentity: Hashable, Codable, Sendable {
  /// Device number (`st_dev`).
  public let device: UInt64
  /// Inode number (`st_ino`).
  public let inode: UInt64
  /// Size in bytes.
  public let size: Int64
  /// The time of the last data change (`st_mtim`), in nanoseconds since 1970.
  public let modifiedAt: Int64
  /// The time of the last status change (`st_ctim`), in nanoseconds since 1970. No program can set it back.
  public let changedAt: Int64

  /// Creates an identity from the values of one `fstat`, without checking them.
  public init(device: UInt64, inode: UInt64, size: Int64, modifiedAt: Int64, changedAt: Int64) {
    self.device = device
    self.inode = inode
    self.size = size
    self.modifiedAt = modifiedAt
    self.changedAt = changedAt
  }
}
