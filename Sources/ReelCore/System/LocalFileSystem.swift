import CReel

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
    // overlayfs: two of one upper layer are nobody's to rely on (overlayfs.rst, "Sharing and copying layers").
    0x794C_7630,
  ]

  /// Whether a file system of this type is one.
  package static func includes(_ type: UInt32) -> Bool { types.contains(type) }

  /// Whether `path` is on one; false where that can't be told.
  package static func holds(_ path: String) -> Bool { includes(reel_file_system_type(path)) }
}
