import Glibc
import ReelCore
import Synchronization

/// The kernel's notifications about watched folders (inotify(7)).
package final class FolderNotifications: Sendable {
  package enum Change: Hashable, Sendable {
    /// A process that could write to the file has closed it, or it was moved here.
    case closed(SourcePath)
    /// A process has opened a file for reading or writing; the kernel does not say which. Reported only with
    /// ``init(tellsOpening:)``.
    case opened(SourcePath)
    /// A process that could only read the file has closed it. Reported only if `opened` is.
    case leftUnchanged(SourcePath)
    /// It is new: a file that is being written, or a folder.
    case appeared(SourcePath)
    /// It was removed, or moved elsewhere.
    case gone(SourcePath, isFolder: Bool)
    /// The watched folder itself was moved, removed or unmounted.
    case lost
    /// More has happened than the kernel could queue.
    case overflowed
  }

  private let queue: Descriptor
  private let folders = Mutex<[Int32: SourcePath]>([:])
  /// The folder that was watched first.
  private let root = Mutex<SourcePath?>(nil)
  /// Why not every folder is watched; nil if every one is.
  private let reason = Mutex<String?>(nil)

  private let interests: UInt32
  private static let openings = UInt32(IN_OPEN | IN_CLOSE_NOWRITE)
  private static let interests = UInt32(
    IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF
      | IN_ONLYDIR)

  /// - Parameter tellsOpening: whether the opening of files is reported, which takes some more events for each.
  /// - Throws: if the user has too many instances (`fs.inotify.max_user_instances`).
  package init(tellsOpening: Bool = false) throws(SystemError) {
    interests = tellsOpening ? Self.interests | Self.openings : Self.interests
    queue = Descriptor(
      adopting: try retryingInterrupts("inotify_init1") { inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK)) })
  }

  /// The number of folders that are watched.
  package var count: Int { folders.withLock { $0.count } }

  /// Watches a folder, but not those in it. A listing that begins after this and the later changes together miss
  /// nothing.
  func watch(_ path: SourcePath, _ folder: Descriptor) {
    // By the descriptor, as its name may mean another folder by now.
    let isLocal = folder.holding { LocalFileSystem.holds("/proc/self/fd/\($0)") }
    guard isLocal else {
      return fallShort("\(path) is on a file system that may not report changes")
    }
    let number = queue.holding { queue in
      folder.holding { inotify_add_watch(queue, "/proc/self/fd/\($0)", interests) }
    }
    // It is gone already, or there are too many watches (`fs.inotify.max_user_watches`).
    guard number >= 0 else {
      if errno != ENOENT {
        fallShort(
          "it contains more folders than can be watched; raise fs.inotify.max_user_watches to notice changes at once"
        )
      }
      return
    }
    root.withLock { $0 = $0 ?? path }
    folders.withLock { $0[number] = path }
  }

  private func fallShort(_ why: String) { reason.withLock { $0 = $0 ?? why } }

  /// Why some folders are not watched: the user has too many watches, or the kernel does not report changes there. Nil
  /// if all are watched.
  var shortcoming: String? { reason.withLock { $0 } }

  /// Waits until there are changes, `other` is readable, or the time is up.
  static func wait(for all: [FolderNotifications], or other: Int32, atMost patience: Duration) {
    var requests = (all.map(\.queue.rawValue) + [other]).map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    withExtendedLifetime(all) { _ = poll(&requests, nfds_t(requests.count), patience.milliseconds) }
  }

  /// Returns some of the changes since the last call; none if there are none.
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
      // The cause has been reported before.
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
      // A folder that was removed is empty, and its watch ends by itself.
      if has(IN_ISDIR), has(IN_MOVED_FROM) { leave(path) }
      return .gone(path, isFolder: has(IN_ISDIR))
    }
    return has(IN_ISDIR) || has(IN_CREATE) ? .appeared(path) : .closed(path)
  }

  /// Stops watching a folder that was moved away: changes in it would be reported under its old name.
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
  /// Rounded up, so that no wait becomes zero.
  fileprivate var milliseconds: Int32 {
    Int32(clamping: components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 + 1)
  }
}
