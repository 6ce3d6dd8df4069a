import CReel
import Glibc
import ReelCore
import Synchronization

extension FileDisposal {
  /// A folder to which files are moved.
  struct Folder {
    let directory: DirectoryHandle

    init(_ directory: DirectoryHandle) { self.directory = directory }

    /// - Throws: an error that names the folder, never `notFound`, which would seem to be about the file that is to go
    ///   there.
    init(_ path: SourcePath) throws(SourceError) {
      do throws(SourceError) {
        directory = try PathLookup.find(path.bytes, from: nil, links: .follow).openDirectory()
      } catch {
        guard error.code == .notFound else {
          throw SourceError(error.code, "the folder \(path.text) can't be used: " + error.text)
        }
        throw SourceError(.unreadable, "the folder \(path.text) is not there; make it, or mount it")
      }
    }

    /// Whether the name is taken.
    func holds(_ name: [UInt8]) -> Bool { (try? directory.status(of: name)) != nil }

    /// Gives the file `name` of `from` the name `other` here. If that takes two steps, another file that has taken its
    /// place meanwhile keeps `name`.
    /// - Throws: EEXIST if `other` is taken.
    func take(
      _ name: [UInt8], from: DirectoryHandle, as other: [UInt8], _ rename: Renaming = Folder.systemRename
    ) throws(SystemError) {
      do throws(SystemError) {
        try rename(from.descriptor, name, directory.descriptor, other)
      } catch {
        // Not every file system supports this (NFS and SMB do not). There, a hard link is made and the old name
        // removed.
        guard error.code == EINVAL || error.code == ENOSYS else { throw error }
        try link(name, from: from, as: other)
      }
    }

    /// Renames without replacing, as renameat2(2) does.
    typealias Renaming =
      @Sendable (Descriptor, [UInt8], Descriptor, [UInt8]) throws(SystemError) -> Void

    /// The system call.
    static let systemRename: Renaming = { source, old, target, new throws(SystemError) in
      try call("renameat2", old, new) {
        reel_rename_without_replacing(source.rawValue, $0, target.rawValue, $1)
      }
    }

    private func link(_ name: [UInt8], from: DirectoryHandle, as other: [UInt8]) throws(SystemError) {
      let (source, target) = (from.descriptor, directory.descriptor)
      try Self.call("linkat", name, other) { linkat(source.rawValue, $0, target.rawValue, $1, 0) }
      // No other process changes a hidden name, so it can be removed at once. The new name may mean another file by
      // now, which says nothing about this one.
      if FileDisposal.original(of: name) != nil { return Folder(from).unlink(name) }
      guard let linked = try? directory.status(of: other).directoryIdentity else { return }
      do throws(SystemError) {
        try Folder(from).drop(name, ifStill: linked)
      } catch {
        unlink(other)
        throw error
      }
    }

    /// Removes `name` if it still names the file `identity`, which has another name. It is first renamed to a name that
    /// nobody else knows: between the check and the removal, `name` may come to mean another file, which then gets it
    /// back (at the next start, if that fails).
    /// - Throws: if the name can't be changed; the file then still has it.
    private func drop(_ name: [UInt8], ifStill identity: DirectoryIdentity) throws(SystemError) {
      let isStill = { (try? directory.status(of: $0))?.directoryIdentity == identity }
      guard isStill(name) else { return }
      let aside = FileDisposal.dropped(name, longest: shortestName)
      let folder = directory.descriptor
      try Self.call("renameat", name, aside) { renameat(folder.rawValue, $0, folder.rawValue, $1) }
      if isStill(aside) { return unlink(aside) }
      let back = try? firstFree(name) { free throws(SystemError) in
        try Self.call("linkat", aside, free) { linkat(folder.rawValue, $0, folder.rawValue, $1, 0) }
      }
      if back != nil { unlink(aside) }
    }

    private static func call(
      _ call: String, _ old: [UInt8], _ new: [UInt8],
      _ body: (UnsafePointer<CChar>, UnsafePointer<CChar>) -> Int32
    ) throws(SystemError) {
      guard let old = try? PathBytes(old), let new = try? PathBytes(new) else {
        throw SystemError(code: EINVAL, call: call)
      }
      _ = try retryingInterrupts(call) { body(old.characters, new.characters) }
    }

    /// Returns a free number, at least `first`: the first free one if all numbers below it are taken. It checks only a
    /// few of them, however many are taken.
    private static func freeNumber(from first: Int, isTaken: (Int) -> Bool) -> Int {
      guard isTaken(first) else { return first }
      var (taken, step) = (first, 1)
      while isTaken(taken + step) {
        taken += step
        step = min(step * 2, 1 << 32)
      }
      var free = taken + step
      while free - taken > 1 {
        let middle = taken + (free - taken) / 2
        if isTaken(middle) { taken = middle } else { free = middle }
      }
      return free
    }

    /// Calls `body` with `name`, and with a number added for as long as the name is taken.
    /// - Parameters:
    ///   - first: the number to begin with.
    ///   - mark: the prefix of the names.
    ///   - spare: by how many bytes the names must be able to grow.
    func firstFree(
      _ name: [UInt8], from first: Int = 0, markedBy mark: [UInt8] = [], spare: Int = 0,
      _ body: ([UInt8]) throws(SystemError) -> Void
    ) throws(SystemError) -> [UInt8] {
      var (number, longest) = (first, Self.longestName)
      func numbered(_ number: Int) -> [UInt8] {
        mark + Self.numbered(name, number, longest: longest - mark.count - spare)
      }
      for _ in 0..<Self.mostTries {
        let other = numbered(number)
        do throws(SystemError) {
          try body(other)
          return other
        } catch {
          switch error.code {
          case EEXIST: number = Self.freeNumber(from: number + 1) { holds(numbered($0)) }
          case ENAMETOOLONG where longest > shortestName: longest = shortestName
          default: throw error
          }
        }
      }
      throw SystemError(code: EEXIST, call: "rename")
    }

    /// A length in bytes that this folder's file system accepts for a name where 255 are too many: encrypted folders
    /// (eCryptfs, Synology's) take 143, and not every system reports it.
    var shortestName: Int {
      var facts = statvfs()
      guard fstatvfs(directory.descriptor.rawValue, &facts) == 0, facts.f_namemax < Self.longestName else {
        return 143
      }
      return max(64, Int(facts.f_namemax))
    }

    /// Returns a number with which the names of both the file and its sidecar are free. An identical sidecar is not in
    /// the way: a crash may have left it.
    func freeNumber(for name: [UInt8], with sidecar: [UInt8], of other: DirectoryHandle) -> Int {
      let words = Self.words(sidecar, in: other)
      return Self.freeNumber(from: 0) { number in
        let beside = Self.numbered(sidecar, number)
        return holds(Self.numbered(name, number))
          || holds(beside) && Self.words(beside, in: directory) != words
      }
    }

    private static func words(_ name: [UInt8], in directory: DirectoryHandle) -> [UInt8]? {
      try? directory.find(name).openRegular().head(Sidecar.largest)
    }

    /// Each try is with a name that was free a moment ago, unless a text that explains another file is in the way.
    private static let mostTries = 100_000
    /// The longest name in bytes that file systems accept.
    private static let longestName = 255

    /// Returns the name with a number, unless that is 0, before its extension. What comes before is cut to what file
    /// systems accept.
    static func numbered(_ name: [UInt8], _ number: Int, longest: Int = longestName) -> [UInt8] {
      var dot = name.lastIndex(of: UInt8(ascii: ".")).flatMap { $0 > 0 ? $0 : nil } ?? name.count
      // That is no extension, and would leave nothing to cut.
      if name.count - dot > 32 { dot = name.count }
      let end = (number == 0 ? [] : Array("-\(number)".utf8)) + name[dot...]
      var stem = name[..<dot].prefix(longest - end.count)
      // Don't cut within a character, which has at most three bytes after its first.
      for _ in 0..<3 where stem.count < dot && name[stem.count] & 0xC0 == 0x80 { stem = stem.dropLast() }
      return stem + end
    }

    /// What is appended to a file's name to name the text that explains why the file is there.
    static let explanation = Array(".txt".utf8)

    /// Writes a text, or completes it if a crash has left its beginning.
    /// - Returns: whether nothing was there.
    /// - Throws: EEXIST if something else is there.
    func write(_ text: String, named name: [UInt8]) throws(SystemError) -> Bool {
      guard let path = try? PathBytes(name) else { throw SystemError(code: EINVAL, call: "openat") }
      let (folder, bytes) = (directory.descriptor.rawValue, Array(text.utf8))
      let flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
      do throws(SystemError) {
        let opened = try retryingInterrupts("openat") {
          openat(folder, path.characters, flags | O_CREAT | O_EXCL, 0o644)
        }
        try Descriptor(adopting: opened).write(all: bytes)
        return true
      } catch  where error.code == EEXIST {
        let opened = openat(folder, path.characters, flags)
        guard opened >= 0 else { throw error }
        let file = Descriptor(adopting: opened)
        guard let begun = try? file.readToEnd(limit: bytes.count + 1), bytes.starts(with: begun) else {
          throw error
        }
        try file.write(all: bytes.dropFirst(begun.count))
        return false
      }
    }

    func unlink(_ name: [UInt8]) {
      if let path = try? PathBytes(name) { unlinkat(directory.descriptor.rawValue, path.characters, 0) }
    }
  }

  /// The folders to which files are moved, each opened once. A link or another folder that takes the place of one of
  /// them gets nothing.
  package final class Folders: Sendable {
    private struct State {
      var opened: [SourcePath: DirectoryHandle] = [:]
      var swept: Set<DirectoryIdentity> = []
      var sidecars: [DirectoryIdentity: SidecarNames] = [:]
    }
    private let state = Mutex(State())

    package init() {}

    /// The identity of the folder that was opened by that path; nil if none was yet.
    package func identity(of path: SourcePath) -> DirectoryIdentity? {
      state.withLock { $0.opened[path]?.identity }
    }

    /// Opens the folder, unless it is open already. Blocks.
    package func open(_ path: SourcePath) throws(SourceError) { _ = try find(path) }

    /// Returns the very folder that was there when it was first opened.
    /// - Throws: the errors of ``Folder/init(_:)``; `unreadable` if another folder is there by now.
    func find(_ path: SourcePath) throws(SourceError) -> Folder {
      let current = try Folder(path)
      let first = state.withLock { state in
        let first = state.opened[path] ?? current.directory
        state.opened[path] = first
        return first
      }
      guard current.directory.identity == first.identity else {
        throw SourceError(
          .unreadable,
          "the folder \(path.text) is not the one that was there at the start, or a link was put in its place; put that folder back, or start again"
        )
      }
      return Folder(first)
    }

    /// Returns the names in `directory` that may concern that sidecar. They may be slightly out of date, so some files
    /// may be gone. Nil if they can't be listed. Blocks.
    func names(in directory: DirectoryHandle, forSidecarsLike sidecar: [UInt8]) -> [[UInt8]]? {
      state.withLock { state in
        if state.sidecars[directory.identity]?.isFresh != true {
          state.sidecars = state.sidecars.filter { $0.value.isFresh }
          state.sidecars[directory.identity] = try? SidecarNames(of: directory)
        }
        return state.sidecars[directory.identity]?.all(forSidecarsLike: sidecar)
      }
    }

    /// Whether the folder still has to be searched for what dead processes have left; true once for each. That takes
    /// long if there are many files.
    func isFirst(of directory: DirectoryHandle) -> Bool {
      state.withLock { $0.swept.insert(directory.identity).inserted }
    }
  }

  /// The names in a folder, indexed by the sidecars that they may concern.
  struct SidecarNames {
    private let names: NameList
    /// Sorted by hash.
    private let entries: [(hash: Int, index: Int)]
    /// Valid for ten times as long as the listing took, so that it costs little, however many files follow one another.
    private let expiry: ContinuousClock.Instant

    init(of directory: DirectoryHandle) throws(SourceError) {
      let start = ContinuousClock.now
      names = try NameList(of: directory)
      var entries: [(hash: Int, index: Int)] = []
      for index in 0..<names.count {
        let name = names[index]
        for hash in Self.hashes(name).union(Self.hashes(Sidecar.name(for: name))) {
          entries.append((hash, index))
        }
      }
      self.entries = entries.sorted { $0 < $1 }
      expiry = .now + (.now - start) * 10
    }

    var isFresh: Bool { .now < expiry }

    /// Returns the names that may be, or belong to, a sidecar of this name or of one that prints alike; in order.
    func all(forSidecarsLike sidecar: [UInt8]) -> [[UInt8]] {
      var found: Set<Int> = []
      for hash in Self.hashes(sidecar) {
        var (low, high) = (0, entries.count)
        while low < high {
          let middle = (low + high) / 2
          if entries[middle].hash < hash { low = middle + 1 } else { high = middle }
        }
        found.formUnion(entries[low...].lazy.prefix { $0.hash == hash }.map(\.index))
      }
      return found.sorted().map { names[$0] }
    }

    static func folded(_ name: [UInt8]) -> [UInt8] {
      name.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }

    /// Returns the hashes of a name. Names that print alike, or differ only in letter case, have one in common.
    private static func hashes(_ name: [UInt8]) -> Set<Int> {
      var hashes: Set = [folded(name).hashValue]
      if let key = AlikeName.key(name) { hashes.insert(key.hashValue) }
      return hashes
    }
  }

  /// An unfinished copy, under a hidden name of its own, as two watches may move files of the same name to one folder.
  /// It is locked as long as its process lives. What dead processes have left is removed before the first draft in a
  /// folder.
  final class Draft: StagingArea {
    let name: [UInt8]
    private let directory: DirectoryHandle
    private let file: DraftFile
    /// Whether it was renamed, and so has become the copy.
    var isNamed: Bool {
      get { file.isNamed.withLock { $0 } }
      set { file.isNamed.withLock { $0 = newValue } }
    }

    private static let mark = Array(".reel-moving-".utf8)

    init(in directory: DirectoryHandle, _ folders: Folders = Folders()) throws(SourceError) {
      self.directory = directory
      if folders.isFirst(of: directory) { Self.sweep(directory) }
      (name, file) = try FileDisposal.being("moved") { () throws(SystemError) in
        try Self.make(in: directory)
      }
    }

    deinit {
      if !isNamed { Folder(directory).unlink(name) }
    }

    private static func make(in directory: DirectoryHandle) throws(SystemError) -> ([UInt8], DraftFile) {
      // A sweep by another process may have found the file before it was locked.
      for _ in 0..<8 {
        let name = mark + Array(SystemRandomness().name(length: 12).utf8)
        guard let path = try? PathBytes(name) else { continue }
        let opened = try retryingInterrupts("openat") {
          openat(
            directory.descriptor.rawValue, path.characters,
            O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        }
        let file = DraftFile(Descriptor(adopting: opened))
        // Where locks are not supported, nothing is swept.
        if flock(opened, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK { continue }
        if file.has(name, in: directory) { return (name, file) }
      }
      throw SystemError(code: EBUSY, call: "flock")
    }

    private static func sweep(_ directory: DirectoryHandle) {
      guard let names = try? NameList(of: directory) else { return }
      for name in (0..<names.count).lazy.map({ names[$0] }) where name.starts(with: mark) {
        guard let path = try? PathBytes(name) else { continue }
        let opened = openat(
          directory.descriptor.rawValue, path.characters, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard opened >= 0 else { continue }
        let file = Descriptor(adopting: opened)
        if flock(file.rawValue, LOCK_SH | LOCK_NB) == 0 { Folder(directory).unlink(name) }
      }
    }

    /// Whether `name` is this very file.
    func has(_ name: [UInt8]) -> Bool { file.has(name, in: directory) }

    func makeFile() throws(UploadError) -> any StagedFile { file }

    /// Gives the copy the times and the mode of the original, and syncs it to disk.
    func finish(like original: [UInt8], in folder: DirectoryHandle) throws(SourceError) {
      var facts = stat()
      let source = try PathBytes(original)
      let number = file.descriptor
      try FileDisposal.being("moved") { () throws(SystemError) in
        _ = try retryingInterrupts("fstatat") {
          fstatat(folder.descriptor.rawValue, source.characters, &facts, AT_SYMLINK_NOFOLLOW)
        }
        fchmod(number, facts.st_mode & 0o777)
        futimens(number, [facts.st_atim, facts.st_mtim])
        _ = try retryingInterrupts("fsync") { fsync(number) }
      }
    }
  }
}

extension FileIdentity {
  /// Whether it is the same file with the same bytes, as far as can be seen. The change time is ignored, as a new name
  /// changes it.
  func isSameFile(as other: FileIdentity) -> Bool {
    device == other.device && inode == other.inode && size == other.size && modifiedAt == other.modifiedAt
  }
}

private final class DraftFile: StagedFile {
  private let file: Descriptor
  let isNamed = Mutex(false)

  init(_ file: Descriptor) { self.file = file }

  var descriptor: Int32 { file.rawValue }
  var mayBecomeObject: Bool { false }

  func seal() {}

  func has(_ name: [UInt8], in directory: DirectoryHandle) -> Bool {
    guard let own = try? FileStatus(of: file).identity, let named = try? directory.status(of: name).identity
    else { return false }
    return named.device == own.device && named.inode == own.inode
  }

  func failure(_ code: Int32, _ task: String) -> UploadError {
    UploadError(.storeFull, "could not \(task) (\(SystemError(code: code, call: "").reason))")
  }
}
