import CFileSystem
import ReelModel

/// File systems on which a catalog would come to harm: SQLite's write-ahead log needs memory that all its processes
/// share, so they have to be on one machine (https://www.sqlite.org/wal.html, "Overview").
enum NetworkFileSystem {
  /// What statfs(2) calls them (linux/magic.h, and the kernel's own sources for SMB).
  private static let names: [UInt32: String] = [
    0x6969: "NFS", 0x517B: "SMB", 0xFF53_4D42: "CIFS", 0xFE53_4D42: "SMB", 0x5346_414F: "AFS",
    0x7375_7245: "Coda", 0x564C: "NCP",
  ]

  /// The name of a network file system by its type; nil for any other.
  static func name(of type: UInt32) -> String? { names[type] }

  /// - Throws: `unusable` when the folder at `path` is on one. A folder that can't be asked about is let pass.
  static func check(_ path: String) throws(CatalogError) {
    guard let name = name(of: reel_file_system_type(path)) else { return }
    throw CatalogError(
      .unusable,
      "the library \(path) is on a network file system (\(name)), where its catalog could be damaged: name one on a "
        + "disk of this machine with --library; what it stores may go to the network (--to)")
  }
}
