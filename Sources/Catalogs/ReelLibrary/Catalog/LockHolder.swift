import CReel
import Glibc
import ReelCore

/// Another process that keeps a catalog to itself, so that this one waits.
public struct LockHolder: Hashable, Sendable {
  /// The catalog's path.
  public let path: String
  /// The process.
  public let pid: Int32
  /// Whether it was stopped (SIGSTOP, a debugger, a suspended job): then it goes on only when somebody wakes it.
  public let isStopped: Bool

  /// Who it is and what to do; one sentence for people.
  public var sentence: String {
    let waiting = "waiting for process \(pid), which keeps the catalog \(path) locked"
    return isStopped
      ? waiting
        + " and is stopped: wake it (kill -CONT \(pid)), or end it (kill -KILL \(pid)); no post is lost"
      : waiting
  }

  /// The process that writes into the catalog at `path` now, as Linux tells it; nil when it can't be seen.
  ///
  /// `/proc/locks` is read for it: asking by `fcntl` would need the file to be opened here, and closing that again
  /// would let go of every lock that SQLite has on it (fcntl(2), "Record locks").
  static func writing(into path: String) -> LockHolder? {
    // The locks of a write-ahead log are on the file of shared memory (SQLite's walformat.html, 2.2.2).
    for file in [path + "-shm", path] {
      if let pid = holder(of: file, kind: "POSIX") { return LockHolder(path, pid) }
    }
    return nil
  }

  /// The other processes that have the catalog at `path` open: whoever has it open with its log keeps a lock on it for
  /// reading.
  static func readers(of path: String) -> [Int32] {
    var facts = stat()
    guard stat(path, &facts) == 0 else { return [] }
    let table = SmallFile.text(of: "/proc/locks")
    let found = LockTable.holders(in: table, kind: "POSIX", "READ", inode: UInt64(facts.st_ino))
    return Set(found).filter { $0 != getpid() && kill($0, 0) == 0 }.sorted()
  }

  /// The process that opens or makes a catalog in the library's folder now; or, when that one waits itself for one
  /// that was stopped, the stopped one.
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

  /// The first other process that has a lock of that kind, for writing, on `file`.
  private static func holder(of file: String, kind: String) -> Int32? {
    var facts = stat()
    guard stat(file, &facts) == 0 else { return nil }
    let inode = UInt64(facts.st_ino)
    return LockTable.first(in: { SmallFile.text(of: "/proc/locks") }) { table in
      LockTable.holders(in: table, kind: kind, inode: inode).first { $0 != getpid() && kill($0, 0) == 0 }
    }
  }

  /// The letter of proc_pid_stat(5): T is stopped.
  private static func state(of pid: Int32) -> Substring? {
    let stat = SmallFile.text(of: "/proc/\(pid)/stat")
    guard let end = stat.lastIndex(of: ")") else { return nil }
    return stat[stat.index(after: end)...].split(separator: " ").first
  }
}

/// Reads `/proc/locks` (proc_locks(5)). Pure.
enum LockTable {
  /// What `find` finds in the table.
  ///
  /// Linux gives it out a page at a time at most, each from where the one before ended by number: when locks before
  /// that place went meanwhile, as many lines are left out. So where nothing is found, it is read anew, a few times.
  static func first<Found>(in table: () -> String, _ find: (String) -> Found?) -> Found? {
    for _ in 0..<4 {
      if let found = find(table()) { return found }
    }
    return nil
  }

  /// The processes that hold a lock of that kind on the file with that inode; who waits for one is not a holder.
  ///
  /// The device is left out: file systems of several devices (btrfs, overlayfs) show another here than stat(2). Should
  /// a file of the same number be locked elsewhere, somebody waits longer than need be, and no more.
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

/// Files of `/proc`: of no length that could be asked for, read in one go.
enum SmallFile {
  /// Nothing when it can't be read.
  static func text(of path: String) -> String {
    String(decoding: (try? Descriptor(opening: path, O_RDONLY).readToEnd()) ?? [], as: UTF8.self)
  }
}

/// Keeps other processes out while a catalog is being opened or made. Blocks.
struct FolderLock {
  private let folder: Descriptor

  /// - Parameters:
  ///   - seconds: how long to wait when nobody is seen to be in it; who is seen is waited for, up to ten minutes.
  ///   - onWait: told once who is in it, when that takes more than 2 s.
  /// - Throws: ``CatalogError`` (`locked`) when it can't be had, or `unusable`.
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

  /// Lets others in.
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
        + "damaged: name one on a disk of this machine with \(setting: .library), or move it there while no reel is running; what it "
        + "stores may lie anywhere (\(setting: .to))")
  }

  /// Whether the file system has a device: those without one have the major number 0 (`set_anon_super` in Linux).
  private static func isOnDisk(_ path: String) -> Bool {
    var facts = stat()
    // Glibc's major(3) is a macro.
    return stat(path, &facts) == 0 && facts.st_dev & 0xFFFF_F000_000F_FF00 != 0
  }
}
