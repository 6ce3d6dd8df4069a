/// What tells one state of one file from any other: if any of these changed, the bytes may have changed too.
public struct FileIdentity: Hashable, Codable, Sendable {
  /// Device number (`st_dev`).
  public let device: UInt64
  /// Inode number (`st_ino`).
  public let inode: UInt64
  /// Size in bytes.
  public let size: Int64
  /// Time of last data change, nanoseconds since 1970.
  public let modifiedAt: Int64
  /// Time of last status change, nanoseconds since 1970. No program can set it back.
  public let changedAt: Int64

  /// An identity from the numbers of one `fstat`; none of them is checked.
  public init(device: UInt64, inode: UInt64, size: Int64, modifiedAt: Int64, changedAt: Int64) {
    self.device = device
    self.inode = inode
    self.size = size
    self.modifiedAt = modifiedAt
    self.changedAt = changedAt
  }
}
