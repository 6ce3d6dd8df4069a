import Glibc
import ReelCore

/// What `stat` says of a file.
struct FileStatus: Hashable, Sendable {
  enum Kind: Hashable, Sendable {
    case regular
    case directory
    case link
    /// Anything else, as a noun with its article.
    case special(String)
  }
  let kind: Kind
  let identity: FileIdentity

  var directoryIdentity: DirectoryIdentity {
    DirectoryIdentity(device: identity.device, inode: identity.inode)
  }

  /// Of an open file.
  init(of descriptor: Descriptor) throws(SourceError) {
    do {
      var status = stat()
      _ = try descriptor.holding { number throws(SystemError) in
        try retryingInterrupts("fstat") { fstat(number, &status) }
      }
      self.init(status)
    } catch {
      throw SourceError(error)
    }
  }

  /// Of `name` in the directory, the link itself where it is one.
  init(of name: PathBytes, in directory: Descriptor) throws(SourceError) {
    do {
      var status = stat()
      _ = try directory.holding { number throws(SystemError) in
        try retryingInterrupts("fstatat") { fstatat(number, name.characters, &status, AT_SYMLINK_NOFOLLOW) }
      }
      self.init(status)
    } catch {
      throw SourceError(error)
    }
  }

  private init(_ status: stat) {
    kind = Self.kind(status.st_mode)
    identity = FileIdentity(
      device: UInt64(status.st_dev), inode: UInt64(status.st_ino), size: Int64(status.st_size),
      modifiedAt: Self.nanoseconds(status.st_mtim), changedAt: Self.nanoseconds(status.st_ctim))
  }

  private static func kind(_ mode: mode_t) -> Kind {
    switch mode & S_IFMT {
    case S_IFREG: .regular
    case S_IFDIR: .directory
    case S_IFLNK: .link
    case S_IFIFO: .special("a FIFO (a named pipe)")
    case S_IFSOCK: .special("a socket")
    default: .special("a device")
    }
  }

  /// Nanoseconds since 1970. A file system may keep times beyond what fits; they end at the last one that
  /// does.
  private static func nanoseconds(_ time: timespec) -> Int64 {
    let (product, overflow) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, carries) = product.addingReportingOverflow(Int64(time.tv_nsec))
    return overflow || carries ? (time.tv_sec < 0 ? .min : .max) : sum
  }
}
