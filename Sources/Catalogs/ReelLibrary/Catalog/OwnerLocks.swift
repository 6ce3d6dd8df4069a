import FoundationEssentials
import Glibc
import ReelCore
import Synchronization

/// The locks that show which owners of a catalog are alive.
protocol OwnerLocks: Sendable {
  /// Whether the owner of this lock is alive. True also if that can't be found out.
  func isHeld(_ name: String) -> Bool

  /// The names of all locks, including those that were never finished. Locks that
  /// vanish with their owner may be left out.
  func names() -> [String]

  /// Removes what a dead owner has left. A failure does no harm: the next opening tries again.
  func removeIfDead(_ name: String)
}

/// An owner's lock, which is held as long as this object exists.
protocol HeldLock: Sendable {
  var name: String { get }

  /// Releases the lock, and leaves nothing behind.
  func retire()
}

extension OwnerLock: HeldLock {}

/// Locked files in a library's folder. Everything here blocks.
struct LockFiles: OwnerLocks {
  /// The prefix of the names of all lock files that owners of a catalog hold.
  static let prefix = "catalog-"

  private let folder: String

  init(_ library: LibraryFolder) { folder = library.temporaryPath }

  /// Takes the lock of a new owner.
  func take(_ name: String) throws(CatalogError) -> OwnerLock {
    do {
      return try OwnerLock(directory: folder, name: name)
    } catch {
      if error.code == ENOSPC || error.code == EDQUOT {
        throw CatalogError(.diskFull, "no space left to lock a file in \(folder): free some, and try again")
      }
      throw CatalogError(
        .unusable, "cannot lock a file in \(folder) (\(error.reason)): \(CatalogError.advice(error.code))")
    }
  }

  func isHeld(_ name: String) -> Bool { (try? OwnerLock.isAlive(directory: folder, name: name)) ?? true }

  func names() -> [String] {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let endings = [OwnerLock.suffix, OwnerLock.suffix + OwnerLock.unfinishedSuffix]
    let names = files.filter { $0.hasPrefix(Self.prefix) }.compactMap { file in
      endings.first { file.hasSuffix($0) }.map { String(file.dropLast($0.count)) }
    }
    return Set(names).sorted()
  }

  func removeIfDead(_ name: String) { _ = try? OwnerLock.removeIfDead(directory: folder, name: name) }
}

/// The locks of owners within this process.
final class LocksInMemory: OwnerLocks {
  private let taken = Mutex((count: 0, held: Set<String>()))

  private final class Lock: HeldLock {
    let name: String
    private let locks: LocksInMemory

    init(_ name: String, of locks: LocksInMemory) { (self.name, self.locks) = (name, locks) }

    func retire() { locks.taken.withLock { taken in _ = taken.held.remove(name) } }

    deinit { retire() }
  }

  /// Takes the lock of a new owner.
  func take() -> any HeldLock {
    let name = taken.withLock { taken in
      taken.count += 1
      taken.held.insert("\(taken.count)")
      return "\(taken.count)"
    }
    return Lock(name, of: self)
  }

  func isHeld(_ name: String) -> Bool { taken.withLock { $0.held.contains(name) } }

  func names() -> [String] { [] }

  func removeIfDead(_ name: String) {}
}
