import CReel
import Glibc
import ReelCore

/// Whether a file may still be written to by whoever has it open.
package enum FileWriters: Hashable, Sendable {
  /// Nobody has it open for writing, or mapped so.
  case none
  /// Somebody has.
  case some
  /// The kernel does not say: it is another user's file, or other machines may write to it.
  case unknown

  /// Asks the kernel. Blocks as long as a system call does.
  /// - Parameter file: open for reading only.
  package init(of file: Descriptor) {
    let (answer, type) = file.holding { (reel_has_writers($0), reel_file_system_type("/proc/self/fd/\($0)")) }
    switch answer {
    case 0 where LocalFileSystem.includes(type): self = .none
    // FUSE knows who has it open on this machine; NFS and SMB say the same of files that nobody has open.
    case 1 where LocalFileSystem.includes(type) || type == Self.fuse: self = .some
    default: self = .unknown
    }
  }

  private static let fuse: UInt32 = 0x6573_5546

  /// Whether the kernel says so of every user's files: this process has `CAP_LEASE`, and that not only in a user namespace.
  static let areKnownOfAllUsers: Bool = {
    guard let map = text("/proc/self/uid_map"), let status = text("/proc/self/status"),
      map.split(whereSeparator: \.isWhitespace).elementsEqual(["0", "0", "4294967295"]),
      let line = status.split(separator: "\n").first(where: { $0.hasPrefix("CapEff:") }),
      let capabilities = line.split(whereSeparator: \.isWhitespace).last.flatMap({ UInt64($0, radix: 16) })
    else { return false }
    return capabilities & 1 << lease != 0
  }()

  /// `CAP_LEASE` of capabilities(7).
  private static let lease: UInt64 = 28

  private static func text(_ path: String) -> String? {
    let number = open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { return nil }
    return (try? Descriptor(adopting: number).readToEnd()).map { String(decoding: $0, as: UTF8.self) }
  }
}

extension OpenedFile {
  /// Whether anybody may still write to it.
  func writers() -> FileWriters { FileWriters(of: file) }

  /// Whether more of it is holes than is copied and hashed in no time.
  func hasManyHoles(_ size: Int64) -> Bool {
    storedBytes().map { size - min(size, $0) > 64 << 20 } ?? false
  }

  /// Whether parts of it were never written: room that was reserved for what is to come, or left out as zeros. False where
  /// the file system does not tell.
  func hasHoles(_ size: Int64) -> Bool {
    file.holding { number in
      let hole = lseek(number, 0, reel_seek_hole)
      return hole >= 0 && Int64(hole) < size
    }
  }
}

/// How it is known that a file's writer is done with it.
package enum Closing: Hashable, Sendable {
  /// The kernel says that nobody has it open for writing. What lies elsewhere is whole, or not there.
  case proven
  /// The kernel has told that its writer closed it, or it was moved here as it is; and does not say who has it open.
  case seen
  /// It has not changed for so long that the user takes it for closed.
  case presumed
  /// It has not changed for a while, which is all that is known: it is not to be moved or removed.
  case unknown
}

extension FileIdentity {
  /// Whether a file that was closed in the state `closed` was not written to since: a new time that was set by hand is no
  /// change of its bytes.
  func isAsClosed(_ closed: FileIdentity) -> Bool {
    guard device == closed.device, inode == closed.inode, size == closed.size else { return false }
    return modifiedAt == closed.modifiedAt || modifiedAt != changedAt
  }
}
