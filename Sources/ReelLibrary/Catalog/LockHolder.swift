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

  /// The processes that hold a lock for writing on the file with that inode; who waits for one is not a holder.
  ///
  /// The device is left out: file systems of several devices (btrfs, overlayfs) show another here than stat(2). Should
  /// a file of the same number be locked elsewhere, somebody waits longer than need be, and no more.
  static func holders(in table: String, kind: String, inode: UInt64) -> [Int32] {
    table.split(separator: "\n").compactMap { line in
      let fields = line.split(separator: " ")
      guard fields.count >= 6, fields[1] == kind, fields[3] == "WRITE", let pid = Int32(fields[4]), pid > 0,
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
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return "" }
    let descriptor = Descriptor(adopting: file)
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(descriptor.rawValue, &buffer, buffer.count)
      guard count > 0 else { return String(decoding: text, as: UTF8.self) }
      text += buffer[..<count]
    }
  }
}
