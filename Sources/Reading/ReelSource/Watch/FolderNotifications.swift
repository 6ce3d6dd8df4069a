import Glibc
import ReelCore
import Synchronization

/// What the kernel tells of folders while they are watched (inotify(7)).
package final class FolderNotifications: Sendable {
  package enum Change: Hashable, Sendable {
    /// Somebody who could write to it has closed it, or it was moved here as it is.
    case closed(SourcePath)
    /// Somebody has opened a file, for reading or writing: the kernel does not say. Only told with ``init(tellsOpening:)``.
    case opened(SourcePath)
    /// Somebody who could only read it has closed it. Told as `opened` is.
    case leftUnchanged(SourcePath)
    /// It is new: a file that is being written, or a folder.
    case appeared(SourcePath)
    /// It was removed, or moved elsewhere.
    case gone(SourcePath, isFolder: Bool)
    /// The watched folder itself is not what it was.
    case lost
    /// More has happened than the kernel remembers.
    case overflowed
  }

  private let queue: Descriptor
  private let folders = Mutex<[Int32: SourcePath]>([:])
  /// The folder that was watched first.
  private let root = Mutex<SourcePath?>(nil)
  /// Why not every folder is watched.
  private let reason = Mutex<String?>(nil)

  private let interests: UInt32
  private static let openings = UInt32(IN_OPEN | IN_CLOSE_NOWRITE)
  private static let interests = UInt32(
    IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF
      | IN_ONLYDIR)

  /// - Parameter tellsOpening: whether it is told that files are opened, which is some events more for each.
  /// - Throws: where the user has too many (`fs.inotify.max_user_instances`).
  package init(tellsOpening: Bool = false) throws(SystemError) {
    interests = tellsOpening ? Self.interests | Self.openings : Self.interests
    queue = Descriptor(
      adopting: try retryingInterrupts("inotify_init1") { inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK)) })
  }

  /// How many folders are watched.
  package var count: Int { folders.withLock { $0.count } }

  /// Watches a folder, but not those in it: what is listed from now on, and what changes later, is all that there is.
  func watch(_ path: SourcePath, _ folder: Descriptor) {
    // By the descriptor: its name may mean another one by now.
    let isLocal = folder.holding { LocalFileSystem.holds("/proc/self/fd/\($0)") }
    guard isLocal else {
      return fallShort("\(path) is on a file system that may not tell what is written to it")
    }
    let number = queue.holding { queue in
      folder.holding { inotify_add_watch(queue, "/proc/self/fd/\($0)", interests) }
    }
    // Gone already, or too many (`fs.inotify.max_user_watches`).
    guard number >= 0 else {
      if errno != ENOENT {
        fallShort(
          "more folders are in it than may be watched; raise fs.inotify.max_user_watches to be told at once")
      }
      return
    }
    root.withLock { $0 = $0 ?? path }
    folders.withLock { $0[number] = path }
  }

  private func fallShort(_ why: String) { reason.withLock { $0 = $0 ?? why } }

  /// Why there are folders that are not watched: the user watches too many, or the kernel does not tell of them. Nil where
  /// there are none.
  var shortcoming: String? { reason.withLock { $0 } }

  /// Waits until there are changes, `other` is readable, or the time is over.
  static func wait(for all: [FolderNotifications], or other: Int32, atMost patience: Duration) {
    var requests = (all.map(\.queue.rawValue) + [other]).map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    withExtendedLifetime(all) { _ = poll(&requests, nfds_t(requests.count), patience.milliseconds) }
  }

  /// What has changed since the last call, some of it; nothing when nothing has.
  package func changes() -> [Change] {
    let size = 64 << 10
    return withUnsafeTemporaryAllocation(byteCount: size, alignment: 8) { buffer in
      let count = queue.holding { read($0, buffer.baseAddress, size) }
      guard count > 0 else { return [] }
      var changes: [Change] = []
      var offset = 0
      while offset + MemoryLayout<inotify_event>.size <= count {
        let event = buffer.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
        let name = UnsafeRawBufferPointer(buffer)[
          (offset + MemoryLayout<inotify_event>.size)..<(offset + MemoryLayout<inotify_event>.size
            + Int(event.len))]
        offset += MemoryLayout<inotify_event>.size + Int(event.len)
        if let change = change(event, Array(name.prefix { $0 != 0 })) { changes.append(change) }
      }
      return changes
    }
  }

  private func change(_ event: inotify_event, _ name: [UInt8]) -> Change? {
    let has = { (bits: Int32) in event.mask & UInt32(bitPattern: bits) != 0 }
    if has(IN_Q_OVERFLOW) { return .overflowed }
    guard let folder = folders.withLock({ $0[event.wd] }) else { return nil }
    if has(IN_IGNORED) {
      // What it means has been told before.
      folders.withLock { $0[event.wd] = nil }
      return nil
    }
    if has(Int32(IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)) {
      return folder == root.withLock { $0 } ? .lost : nil
    }
    if event.mask & Self.openings != 0 {
      guard !has(IN_ISDIR), !name.isEmpty else { return nil }
      return has(IN_OPEN) ? .opened(folder.appending(name)) : .leftUnchanged(folder.appending(name))
    }
    let path = folder.appending(name)
    if has(IN_DELETE | IN_MOVED_FROM) {
      // One that was removed is empty, and is watched no more by itself.
      if has(IN_ISDIR), has(IN_MOVED_FROM) { leave(path) }
      return .gone(path, isFolder: has(IN_ISDIR))
    }
    return has(IN_ISDIR) || has(IN_CREATE) ? .appeared(path) : .closed(path)
  }

  /// What moves away is not watched any more: what happens there would be told under its old name.
  private func leave(_ path: SourcePath) {
    let below = path.bytes + [UInt8(ascii: "/")]
    let left = folders.withLock { folders in
      let left = folders.filter { $0.value == path || $0.value.bytes.starts(with: below) }.map(\.key)
      for number in left { folders[number] = nil }
      return left
    }
    queue.holding { queue in for number in left { _ = inotify_rm_watch(queue, number) } }
  }
}

extension Duration {
  /// At least one, for a wait that is any.
  fileprivate var milliseconds: Int32 {
    Int32(clamping: components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 + 1)
  }
}
