import CReel
import Glibc
import ReelCore

/// Another process that holds a catalog's lock, so that this one waits.
public struct LockHolder: Hashable, Sendable {
  /// The catalog's path.
  public let path: String
  /// The process id.
  public let pid: Int32
  /// Whether the process is stopped (SIGSTOP, a debugger, a suspended job), and
  /// continues only when somebody resumes it.
  public let isStopped: Bool

  /// The process and what to do about it, in one sentence for people.
  public var sentence: String {
    let waiting = "waiting for process \(pid), which keeps the catalog \(path) locked"
    return isStopped
      ? waiting
        + " and is stopped: wake it (kill -CONT \(pid)), or end it (kill -KILL \(pid)); no post is lost"
      : waiting
  }

  /// Finds the process that is writing to the catalog at `path`, as Linux reports it; nil if none can be seen.
  ///
  /// It reads `/proc/locks`. To ask by `fcntl`, this process would have to open the file, and closing that again would
  /// release every lock that SQLite has on it (fcntl(2), "Record locks").
  static func writing(into path: String) -> LockHolder? {
    // In WAL mode, the locks are on the shared-memory file (SQLite's walformat.html, 2.2.2).
    for file in [path + "-shm", path] {
      if let pid = holder(of: file, kind: "POSIX") { return LockHolder(path, pid) }
    }
    return nil
  }

  /// The other processes that have the catalog at `path` open. In WAL mode, each connection holds a read lock on it.
  static func readers(of path: String) -> [Int32] {
    var facts = stat()
    guard stat(path, &facts) == 0 else { return [] }
    let table = SmallFile.text(of: "/proc/locks")
    let found = LockTable.holders(in: table, kind: "POSIX", "READ", inode: UInt64(facts.st_ino))
    return Set(found).filter { $0 != getpid() && kill($0, 0) == 0 }.sorted()
  }

  /// Finds the process that is opening or creating a catalog in the library's folder. If that one itself waits for a
  /// process that is stopped, finds the latter.
  static func opening(in folder: String) -> LockHolder? {
    let path = folder + "/catalog.sqlite"
    guard let pid = holder(of: folder, kind: "FLOCK") else { return nil }
    if let writer = writing(into: path), writer.isStopped { return writer }
    return LockHolder(path, pid)
  }

  init(path: String, pid: Int32, isStopped: Bool) {
    self.path = path
    self.pid = pid
    self.isStopped = isStopped
  }

  private init(_ path: String, _ pid: Int32) {
    self.init(path: path, pid: pid, isStopped: ["T", "t"].contains(Self.state(of: pid)))
  }

  /// The first other process that holds a write lock of that kind on `file`.
  private static func holder(of file: String, kind: String) -> Int32? {
    var facts = stat()
    guard stat(file, &facts) == 0 else { return nil }
    let inode = UInt64(facts.st_ino)
    return LockTable.first(in: { SmallFile.text(of: "/proc/locks") }) { table in
      LockTable.holders(in: table, kind: kind, inode: inode).first { $0 != getpid() && kill($0, 0) == 0 }
    }
  }

  /// The process's state, as a letter of proc_pid_stat(5): T is stopped.
  private static func state(of pid: Int32) -> Substring? {
    let stat = SmallFile.text(of: "/proc/\(pid)/stat")
    guard let end = stat.lastIndex(of: ")") else { return nil }
    return stat[stat.index(after: end)...].split(separator: " ").first
  }
}

/// Reads `/proc/locks` (proc_locks(5)). Pure.
enum LockTable {
  /// Returns what `find` finds in the table.
  ///
  /// Linux returns at most a page of the table for each read, and continues by the number of the entry. If
  /// locks before that point are released in between, as many entries are skipped. So if nothing is found, the
  /// table is read again, four times in all.
  static func first<Found>(in table: () -> String, _ find: (String) -> Found?) -> Found? {
    for _ in 0..<4 {
      if let found = find(table()) { return found }
    }
    return nil
  }

  /// The processes that hold a lock of that kind on the file with that inode. A
  /// process that waits for one does not count.
  ///
  /// The device is not compared: file systems of several devices (btrfs, overlayfs) show another
  /// one here than in stat(2). If a file with the same inode number is locked elsewhere, this
  /// process merely waits longer than necessary.
  static func holders(in table: String, kind: String, _ access: String = "WRITE", inode: UInt64) -> [Int32] {
    table.split(separator: "\n").compactMap { line in
      let fields = line.split(separator: " ")
      guard fields.count >= 6, fields[1] == kind, fields[3] == access, let pid = Int32(fields[4]), pid > 0,
        fields[5].split(separator: ":").last == "\(inode)"
      else { return nil }
      return pid
    }
  }
}

/// Files of `/proc`, which report no size and are read in one go.
enum SmallFile {
  /// Returns the empty string if the file can't be read.
  static func text(of path: String) -> String {
    String(decoding: (try? Descriptor(opening: path, O_RDONLY).readToEnd()) ?? [], as: UTF8.self)
  }
}

/// A lock on a library's folder that keeps other processes out while a catalog is opened or created. Blocks.
struct FolderLock {
  private let folder: Descriptor

  /// - Parameters:
  ///   - seconds: how long to wait while no process is seen to hold the lock. One that is seen
  ///     is waited for, up to ten minutes.
  ///   - onWait: told once which process holds the lock, if that takes more than 2 s.
  /// - Throws: ``CatalogError``: `locked` if the lock can't be had, or `unusable`.
  init(
    _ path: String, waitingUpTo seconds: Double, onWait: (LockHolder) -> Void = { _ in }
  ) throws(CatalogError) {
    let raw = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard raw >= 0 else { throw Self.failure(SystemError.last("open"), path) }
    folder = Descriptor(adopting: raw)
    let clock = ContinuousClock()
    let begun = clock.now
    var wait = CatalogBusyHandler.Progress()
    let policy = CatalogBusyHandler(longest: seconds)
    while flock(raw, LOCK_EX | LOCK_NB) != 0 {
      guard errno == EWOULDBLOCK || errno == EINTR else {
        throw Self.failure(SystemError.last("flock"), path)
      }
      let waited = (clock.now - begun) / .seconds(1)
      guard policy.goesOn(after: waited, &wait, beside: { LockHolder.opening(in: path) }, onWait) else {
        throw CatalogError(
          .locked,
          "another process has been opening the catalog in \(path) for \(Int(waited)) s: wait until it is done, "
            + "or end it, and try again")
      }
      usleep(5_000)
    }
  }

  /// Releases the lock.
  func end() {
    flock(folder.rawValue, LOCK_UN)
  }

  private static func failure(_ error: SystemError, _ path: String) -> CatalogError {
    CatalogError(
      .unusable,
      "the library's folder \(path) cannot be locked (\(error.reason)): check its file system and permissions"
    )
  }
}

/// File systems that several kernels can mount at once, where a catalog could be damaged: SQLite's write-ahead
/// log needs memory that all its processes share, so they have to be on one machine
/// (https://www.sqlite.org/wal.html, "Overview").
enum SharedFileSystem {
  /// Their names by the type that statfs(2) reports. The numbers are from linux/magic.h, or from the file system's own
  /// source; for those outside the kernel, `src/stat.c` of GNU coreutils has a list.
  private static let names: [UInt32: String] = [
    // Over a network.
    0x6969: "NFS", 0x517B: "SMB", 0xFF53_4D42: "CIFS", 0xFE53_4D42: "SMB", 0x5346_414F: "AFS",
    0x6B41_4653: "AFS", 0x7375_7245: "Coda", 0x564C: "NCP", 0x00C3_6400: "CephFS", 0x0BD0_0BD0: "Lustre",
    0x4750_4653: "GPFS", 0x1983_0326: "BeeGFS", 0x2003_0528: "OrangeFS", 0xAAD7_AAEA: "PanFS",
    // One disk that several machines use.
    0x7461_636F: "OCFS2", 0x0116_1970: "GFS2", 0xA501_FCF5: "VxFS", 0xBEEF_DEAD: "StorNext",
    // A folder of the host in a virtual machine; virtiofs appears as FUSE.
    0x0102_1997: "9p", 0x786F_4256: "vboxsf", 0xBACB_ACBC: "vmhgfs", 0x7C7C_6673: "prl_fs",
    fuse: "FUSE",
  ]

  /// sshfs, virtiofs, and anything else that a user-space program serves. Whether that program shares it is unknown.
  private static let fuse: UInt32 = 0x6573_5546

  /// Returns the name of a shared file system by its type; nil for any other.
  /// - Parameter isOnDisk: whether it is mounted from a disk of this machine. Such a FUSE file system (NTFS and exFAT
  ///   may be one) is this kernel's alone.
  static func name(of type: UInt32, isOnDisk: Bool = false) -> String? {
    type == fuse && isOnDisk ? nil : names[type]
  }

  /// Refuses a folder on a shared file system.
  /// - Throws: `unusable` if the folder at `path` is on one. A folder whose file system can't be found out passes.
  static func check(_ path: String) throws(CatalogError) {
    guard let name = name(of: reel_file_system_type(path), isOnDisk: isOnDisk(path)) else { return }
    throw CatalogError(
      .unusable,
      "the library \(path) is on a file system that several machines can share (\(name)), where its catalog could be "
        + "damaged: name one on a disk of this machine with \(setting: .library), or move it there while no reel is running; what it "
        + "stores may lie anywhere (\(setting: .to))")
  }

  /// Whether the file system is on a device; those without one have the major number 0 (`set_anon_super` in Linux).
  private static func isOnDisk(_ path: String) -> Bool {
    var facts = stat()
    // Glibc's major(3) is a macro.
    return stat(path, &facts) == 0 && facts.st_dev & 0xFFFF_F000_000F_FF00 != 0
  }
}
