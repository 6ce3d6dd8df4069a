import FoundationEssentials
import Glibc
import ReelCore
import Synchronization

/// A store's folder, held open, with a folder for temporary files that is claimed by a lock for as long as this object
/// lives.
final class OpenStore: Sendable {
  let root: Descriptor
  let temporaries: Descriptor
  let durable: DurableFolder
  /// Whether only this user may write to the folder for temporary files.
  let isPrivate: Bool
  private let lock: OwnerLock
  private let leftovers: LeftoverSweep
  /// Renews the lock for processes on other machines; nil if there are none.
  private let heartbeat: Heartbeat?
  private let notices: FolderNotices?
  private let foundOthers = Atomic<Bool>(false)
  private let attempts = Atomic<Int>(0)

  init(
    root: Descriptor, temporaries: Descriptor, isPrivate: Bool = true, lock: OwnerLock,
    leftovers: LeftoverSweep, notices: FolderNotices? = nil
  ) {
    self.root = root
    self.isPrivate = isPrivate
    self.temporaries = temporaries
    self.lock = lock
    self.leftovers = leftovers
    self.notices = notices
    durable = DurableFolder(root)
    heartbeat = leftovers.foreignLease.map { lease in
      let queue = BlockingQueue(label: "reel.folder-lease", width: 1)
      return Heartbeat(every: lease / 6) { await queue.run { (try? lock.renew()) != nil } }
    }
  }

  deinit {
    heartbeat?.stop()
    lock.retire()
    // An owner that seemed alive may have died since, or was dead already: a child that is about to exec holds its
    // parent's descriptors, and so its lock, for a moment longer. What can't be removed now is left to the next
    // process.
    if foundOthers.load(ordering: .relaxed) { _ = try? leftovers.run() }
  }

  /// Removes what dead uploaders left, and does so once more on deinit if others were alive.
  /// - Throws: if the folder for temporary files can't be listed.
  func sweep() throws(SystemError) {
    let living = try leftovers.run().subtracting([lock.name])
    foundOthers.store(!living.isEmpty, ordering: .relaxed)
  }

  /// Reports that a file got its name here by a rename that would have replaced another.
  func namesByReplacing() { notices?.tell(.namesByReplacing) }

  /// Returns a name for a temporary file that no other file has.
  func nextTemporaryName() -> String {
    TemporaryName.part(owner: lock.name, attempt: attempts.add(1, ordering: .relaxed).newValue)
  }
}

/// Whether the file system of a folder shows others what is created there for this user alone. If that can't be
/// determined, the answer is false: code that needs the folder will report the problem.
package func showsFiles(inFolder path: String) async -> Bool {
  await BlockingQueue(label: "reel.folder", width: 1).run {
    (try? StoreFolder.showsFiles(in: StoreFolder.open(path))) ?? false
  }
}

/// Opens folders, and creates those that are missing.
enum StoreFolder {
  /// Opens `path`, which must be a folder and not a symbolic link.
  static func open(_ path: String) throws(SystemError) -> Descriptor {
    try Descriptor(opening: path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  }

  /// Creates `path` and the folders above it if they are missing, with exactly `mode`. Each of them is durable on
  /// return.
  static func make(_ path: String, mode: mode_t) throws(SystemError) {
    if mkdir(path, 0o700) == 0 { return try settle(path, mode) }
    if errno == EEXIST { return try syncName(of: path) }
    guard errno == ENOENT, let parent = parent(of: path) else { throw SystemError.last("mkdir") }
    try make(parent, mode: mode)
    if mkdir(path, 0o700) == 0 { return try settle(path, mode) }
    guard errno == EEXIST else { throw SystemError.last("mkdir") }
    // Another process created it in the meantime.
    try syncName(of: path)
  }

  /// Whether a file can be renamed from one open folder into the other. That takes one mount: to rename(2), two mounts
  /// of one file system are as separate as two file systems.
  static func isOneMount(_ one: Descriptor, _ other: Descriptor) throws(SystemError) -> Bool {
    guard try one.status().st_dev == other.status().st_dev else { return false }
    let mounts = [mount(of: one), mount(of: other)]
    return mounts.contains(nil) || mounts[0] == mounts[1]
  }

  /// Whether `path` leads to the open folder.
  static func isFolder(_ descriptor: Descriptor, at path: String) throws(SystemError) -> Bool {
    var found = stat()
    guard lstat(path, &found) == 0 else { return false }
    let held = try descriptor.status()
    return held.st_dev == found.st_dev && held.st_ino == found.st_ino
  }

  /// The ID of the mount on which an open file was opened (proc_pid_fdinfo(5)); nil if `/proc` does not say.
  private static func mount(of descriptor: Descriptor) -> Substring? {
    let path = "/proc/self/fdinfo/\(descriptor.rawValue)"
    guard let facts = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
    return facts.split(separator: "\n").first { $0.hasPrefix("mnt_id:") }
  }

  /// Who controls a folder for temporary files. It must be this user alone, as files there are about to become objects.
  enum Owner {
    case us, others
    /// Anyone who may write to the store. Its file system shows the same owner and mode for everything that is created
    /// there (SMB, FAT, WSL's drives, many in user space), so nobody has made the folder less safe than it can be.
    case anybody
  }

  static func owner(of folder: Descriptor) throws(SystemError) -> Owner {
    let status = try folder.status()
    return owner(status, madeThere: nil) == .us ? .us : owner(status, madeThere: try madeFile(in: folder))
  }

  /// - Parameter file: the status of a file that was just created there with mode 0600; nil if none was.
  static func owner(_ folder: stat, madeThere file: stat?, user: uid_t = geteuid()) -> Owner {
    let isOpen = folder.st_mode & 0o022 != 0
    if folder.st_uid == user, !isOpen { return .us }
    guard let file, folder.st_uid == file.st_uid else { return .others }
    return !isOpen || file.st_mode & 0o177 != 0 ? .anybody : .others
  }

  /// Whether the folder's file system shows others what is created there for this user alone.
  static func showsFiles(in folder: Descriptor) throws(SystemError) -> Bool {
    guard try folder.status().st_mode & 0o077 != 0 else { return false }
    return try madeFile(in: folder).st_mode & 0o077 != 0
  }

  private static func madeFile(in folder: Descriptor) throws(SystemError) -> stat {
    // If a crash leaves this file behind, the next sweep removes it.
    let name = TemporaryName.newOwner() + OwnerLock.suffix + OwnerLock.unfinishedSuffix
    let file = try Descriptor(
      opening: name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600, in: folder.rawValue)
    defer { unlinkat(folder.rawValue, name, 0) }
    return try file.status()
  }

  private static func settle(_ path: String, _ mode: mode_t) throws(SystemError) {
    try Failpoint.storeFolderMade.reach()
    try settleMode(mode, of: path)
    try syncName(of: path)
    try Failpoint.storeFolderSettled.reach()
  }

  /// Makes a folder's name durable. An existing folder may have been created a moment ago, by a process that died
  /// before it could do so.
  private static func syncName(of path: String) throws(SystemError) {
    guard let parent = parent(of: path) else { return }
    do {
      try open(parent).syncFolder()
    } catch  where [EACCES, EPERM, EROFS].contains(error.code) {
      // The parent may be entered but not read, or is read-only. Nothing can be done about that.
    }
  }

  private static func parent(of path: String) -> String? {
    guard let slash = path.lastIndex(of: "/"), path != "/" else { return nil }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}

/// Creates and opens a store's folders, takes its lock, and removes what dead uploaders left.
struct StorePreparation {
  let root: CanonicalPath
  let temporaries: CanonicalPath?
  let mode: FolderModes
  let failure: FolderFailure
  let lease: Duration
  let notices: FolderNotices

  /// The folder for temporary files within a store that was given none.
  static let hiddenFolder = ".reel-tmp"

  private var hiddenPath: String { (root.text == "/" ? "" : root.text) + "/" + Self.hiddenFolder }

  /// The paths at which temporary files may be.
  var temporaryPaths: [String] { [temporaries?.text, hiddenPath].compactMap { $0 } }

  func run() throws(UploadError) -> OpenStore {
    let rootFolder = try failure.doing("open or make the folder") { () throws(SystemError) in
      try StoreFolder.make(root.text, mode: mode.folder)
      return try StoreFolder.open(root.text)
    }
    let (path, folder, owner) = try temporaryFolder(beside: rootFolder)
    return try failure.doing("write into the folder") { () throws(SystemError) in
      let sweep = sweep(of: path)
      let lock = try OwnerLock(
        directory: path, name: TemporaryName.newOwner(), needsLock: sweep.foreignLease == nil)
      let store = OpenStore(
        root: rootFolder, temporaries: folder, isPrivate: owner == .us, lock: lock,
        leftovers: sweep, notices: notices)
      try store.sweep()
      if owner != .us {
        notices.tell(.keepsNoPermissions)
      } else if try StoreFolder.showsFiles(in: folder) {
        notices.tell(.showsFiles)
      }
      return store
    }
  }

  /// The sweep of what dead uploaders left in a folder for temporary files. Other machines may write to the one within
  /// the store, even if its file system is local: this machine may be a file server.
  func sweep(of path: String) -> LeftoverSweep {
    let isOfThisMachine = path == temporaries?.text && LocalFileSystem.holds(path)
    return LeftoverSweep(folder: path, foreignLease: isOfThisMachine ? nil : lease)
  }

  private func temporaryFolder(
    beside rootFolder: Descriptor
  ) throws(UploadError) -> (String, Descriptor, StoreFolder.Owner) {
    if let temporaries {
      let (folder, owner) = try openOwn(temporaries.text)
      let isBeside = try failure.doing("look at the folder") { () throws(SystemError) in
        try StoreFolder.isOneMount(folder, rootFolder)
      }
      if isBeside { return (temporaries.text, folder, owner) }
    }
    let (folder, owner) = try openOwn(hiddenPath)
    return (hiddenPath, folder, owner)
  }

  private func openOwn(_ path: String) throws(UploadError) -> (Descriptor, StoreFolder.Owner) {
    let (folder, owner) = try failure.doing("make the folder for temporary files") {
      () throws(SystemError) in
      try StoreFolder.make(path, mode: 0o700)
      let folder = try StoreFolder.open(path)
      return (folder, try StoreFolder.owner(of: folder))
    }
    guard owner != .others else {
      throw UploadError(
        .storeUnusable,
        "the folder for temporary files \(path) belongs to another user, or others may write to it: "
          + "remove it, or take that right away (chmod 700)")
    }
    return (folder, owner)
  }
}
