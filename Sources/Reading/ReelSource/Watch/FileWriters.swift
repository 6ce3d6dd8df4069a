import CReel
import Glibc
import ReelCore

/// Whether a process that has a file open may still write to it.
package enum FileWriters: Hashable, Sendable {
  /// No process has it open or mapped for writing.
  case none
  /// Some process has.
  case some
  /// The kernel does not tell: it is another user's file, or other machines may write to it.
  case unknown

  /// Asks the kernel. Blocks for as long as a system call does.
  /// - Parameter file: open for reading only.
  package init(of file: Descriptor) {
    let (answer, type) = file.holding { (reel_has_writers($0), reel_file_system_type("/proc/self/fd/\($0)")) }
    switch answer {
    case 0 where LocalFileSystem.includes(type): self = .none
    // FUSE knows which of this machine's processes have it open. NFS and SMB give this answer even for files that are
    // not open.
    case 1 where LocalFileSystem.includes(type) || type == Self.fuse: self = .some
    default: self = .unknown
    }
  }

  private static let fuse: UInt32 = 0x6573_5546

  /// Whether the kernel tells this of every user's files: this process has `CAP_LEASE`, and not only in a user
  /// namespace.
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
  /// Whether any process may still write to it.
  func writers() -> FileWriters { FileWriters(of: file) }

  /// Whether it has more holes than can be copied and hashed in no time.
  func hasManyHoles(_ size: Int64) -> Bool {
    storedBytes().map { size - min(size, $0) > 64 << 20 } ?? false
  }

  /// Whether parts of it were never written: space reserved for what is to come, or zeros that were left out. False if
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
  /// The kernel says that no process has it open for writing. A remote file always counts as closed: it is whole, or
  /// not there.
  case proven
  /// The kernel has reported that its writer closed it, or that it was moved here, but does not say who has it open.
  case seen
  /// It has been unchanged for so long that it counts as closed.
  case presumed
  /// It has been unchanged for a while, and nothing else is known: it must not be moved or removed.
  case unknown
}

extension FileIdentity {
  /// Whether a file that was closed in the state `closed` was not written to since. A modification time that was set
  /// explicitly is no change of its bytes.
  func isAsClosed(_ closed: FileIdentity) -> Bool {
    guard device == closed.device, inode == closed.inode, size == closed.size else { return false }
    return modifiedAt == closed.modifiedAt || modifiedAt != changedAt
  }
}
