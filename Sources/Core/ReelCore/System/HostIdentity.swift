import CReel
import Glibc

/// Identifies the running kernel. Under the same kernel, a lock shows whether a process is alive.
package enum HostIdentity {
  /// The boot id and the machine id. Containers under one kernel may have different machine ids, and cloned
  /// machines share one.
  package static func current() -> String {
    line(of: "/proc/sys/kernel/random/boot_id") + " " + line(of: "/etc/machine-id")
  }

  /// Whether both certainly identify the same kernel.
  package static func isOneKernel(_ one: String, _ other: String) -> Bool {
    guard let boot = one.split(separator: " ", omittingEmptySubsequences: false).first, !boot.isEmpty else {
      return false
    }
    return boot == other.split(separator: " ", omittingEmptySubsequences: false).first
  }

  /// Whether `host` identifies another boot of the machine that `current` identifies, or of a clone of it. The ids
  /// alone do not show whether that boot has ended.
  package static func isAnotherBoot(_ host: String, of current: String) -> Bool {
    let (then, now) = (parts(of: host), parts(of: current))
    guard let then, let now else { return false }
    return then.machine == now.machine && then.boot != now.boot
  }

  /// Nil if either id is unknown.
  private static func parts(of host: String) -> (boot: Substring, machine: Substring)? {
    let parts = host.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else { return nil }
    return (parts[0], parts[1])
  }

  /// The first line of a small file; empty if it cannot be read.
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

/// File systems that belong to a single kernel, on disk or in memory, so that a lock on a file is visible to every
/// process that can have it open. Any other file system may be shared.
///
/// A server may still export a folder of such a file system to other machines; make sure that they have no access.
package enum LocalFileSystem {
  /// The types in statfs(2), from linux/magic.h; for JFS, bcachefs and ZFS, from their own sources.
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
    // File systems of memory cards and sticks: FAT, exFAT, NTFS (the kernel's own), HFS+, UDF, ISO 9660.
    0x4D44, 0x2011_BAB0, 0x7366_746E, 0x482B, 0x1501_3346, 0x9660,
    // overlayfs. Two mounts that share an upper layer are undefined in any case (overlayfs.rst, "Sharing and
    // copying layers").
    0x794C_7630,
  ]

  /// Whether a file system of this type is local.
  package static func includes(_ type: UInt32) -> Bool { types.contains(type) }

  /// Whether `path` is on a local file system; false if that cannot be determined.
  package static func holds(_ path: UnsafePointer<CChar>) -> Bool { includes(reel_file_system_type(path)) }
}
