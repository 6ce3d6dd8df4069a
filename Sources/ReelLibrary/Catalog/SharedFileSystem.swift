import CReel
import Glibc
import ReelCore

/// File systems that several kernels can have open, on which a catalog would come to harm: SQLite's write-ahead log needs
/// memory that all its processes share, so they have to be on one machine (https://www.sqlite.org/wal.html, "Overview").
enum SharedFileSystem {
  /// What statfs(2) calls them: linux/magic.h, and where that has none the file system's own source; of those outside of
  /// the kernel `src/stat.c` of GNU coreutils has the list.
  private static let names: [UInt32: String] = [
    // Over a network.
    0x6969: "NFS", 0x517B: "SMB", 0xFF53_4D42: "CIFS", 0xFE53_4D42: "SMB", 0x5346_414F: "AFS",
    0x6B41_4653: "AFS", 0x7375_7245: "Coda", 0x564C: "NCP", 0x00C3_6400: "CephFS", 0x0BD0_0BD0: "Lustre",
    0x4750_4653: "GPFS", 0x1983_0326: "BeeGFS", 0x2003_0528: "OrangeFS", 0xAAD7_AAEA: "PanFS",
    // One disk, several machines.
    0x7461_636F: "OCFS2", 0x0116_1970: "GFS2", 0xA501_FCF5: "VxFS", 0xBEEF_DEAD: "StorNext",
    // A host's folder in a virtual machine; virtiofs shows itself as FUSE.
    0x0102_1997: "9p", 0x786F_4256: "vboxsf", 0xBACB_ACBC: "vmhgfs", 0x7C7C_6673: "prl_fs",
    fuse: "FUSE",
  ]

  /// sshfs, virtiofs and everything else that a program of its own serves: what that one shares can't be told.
  private static let fuse: UInt32 = 0x6573_5546

  /// The name of a shared file system by its type; nil for any other.
  /// - Parameter isOnDisk: whether it is mounted from a disk of this machine. Such a FUSE (NTFS and exFAT may come as one)
  ///   is this kernel's alone.
  static func name(of type: UInt32, isOnDisk: Bool = false) -> String? {
    type == fuse && isOnDisk ? nil : names[type]
  }

  /// - Throws: `unusable` when the folder at `path` is on one. A folder that can't be asked about is let pass.
  static func check(_ path: String) throws(CatalogError) {
    guard let name = name(of: reel_file_system_type(path), isOnDisk: isOnDisk(path)) else { return }
    throw CatalogError(
      .unusable,
      "the library \(path) is on a file system that several machines can share (\(name)), where its catalog could be "
        + "damaged: name one on a disk of this machine with --library, or move it there while no reel is running; what it "
        + "stores may lie anywhere (--to)")
  }

  /// Whether the file system has a device: those without one have the major number 0 (`set_anon_super` in Linux).
  private static func isOnDisk(_ path: String) -> Bool {
    var facts = stat()
    // Glibc's major(3) is a macro.
    return stat(path, &facts) == 0 && facts.st_dev & 0xFFFF_F000_000F_FF00 != 0
  }
}
