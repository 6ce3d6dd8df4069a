import CReel
import Glibc

/// Names the running kernel: on the same one, a kernel lock tells who is alive.
package enum HostIdentity {
  /// The boot's id and the machine's. Containers under one kernel may differ in the latter, machines that are copies of
  /// one another share it.
  package static func current() -> String {
    line(of: "/proc/sys/kernel/random/boot_id") + " " + line(of: "/etc/machine-id")
  }

  /// Whether both name the same kernel for certain.
  package static func isOneKernel(_ one: String, _ other: String) -> Bool {
    guard let boot = one.split(separator: " ", omittingEmptySubsequences: false).first, !boot.isEmpty else {
      return false
    }
    return boot == other.split(separator: " ", omittingEmptySubsequences: false).first
  }

  /// Whether `host` names another boot of the machine that `current` names, or of a copy of it: whether that one has
  /// ended, the ids alone do not tell.
  package static func isAnotherBoot(_ host: String, of current: String) -> Bool {
    let (then, now) = (parts(of: host), parts(of: current))
    guard let then, let now else { return false }
    return then.machine == now.machine && then.boot != now.boot
  }

  /// Nil when one of both is unknown.
  private static func parts(of host: String) -> (boot: Substring, machine: Substring)? {
    let parts = host.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else { return nil }
    return (parts[0], parts[1])
  }

  /// The first line of a small file, or nothing when it can't be read.
  private static func line(of path: String) -> String {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return "" }
    defer { close(file) }
    var buffer = [UInt8](repeating: 0, count: 128)
    let count = read(file, &buffer, buffer.count)
    guard count > 0 else { return "" }
    return String(decoding: buffer[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
  }
}

/// File systems that one kernel has to itself, on a disk or in memory, so that a lock on a file is seen by everybody who
/// can have that file open there. Any other may be shared.
///
/// A folder of such a one may still be given to other machines by a server; see to it that they are not let in.
package enum LocalFileSystem {
  /// What statfs(2) calls them: linux/magic.h; for JFS, bcachefs and ZFS their own sources.
  private static let types: Set<UInt32> = [
    0xEF53,  // ext2, ext3, ext4
    0x5846_5342,  // XFS
    0x9123_683E,  // Btrfs
    0xF2F5_2010,  // F2FS
    0x3153_464A,  // JFS
    0xCA45_1A4E,  // bcachefs
    0x2FC1_2FC1,  // ZFS
    0x0102_1994,  // tmpfs
    0x8584_58F6,  // ramfs
    // What cards and sticks have: FAT, exFAT, NTFS (the kernel's own), HFS+, UDF, ISO 9660.
    0x4D44, 0x2011_BAB0, 0x7366_746E, 0x482B, 0x1501_3346, 0x9660,
    // overlayfs: two of one upper layer are nobody's to rely on (overlayfs.rst, "Sharing and copying layers").
    0x794C_7630,
  ]

  /// Whether a file system of this type is one.
  package static func includes(_ type: UInt32) -> Bool { types.contains(type) }

  /// Whether `path` is on one; false where that can't be told.
  package static func holds(_ path: UnsafePointer<CChar>) -> Bool { includes(reel_file_system_type(path)) }
}
