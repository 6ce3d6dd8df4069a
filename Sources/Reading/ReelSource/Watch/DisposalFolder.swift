import CReel
import Glibc
import ReelCore
import Synchronization

extension FileDisposal {
  /// A folder that files go to.
  struct Folder {
    let directory: DirectoryHandle

    init(_ directory: DirectoryHandle) { self.directory = directory }

    /// - Throws: what names the folder, never `notFound`: that would be said of the file that is to go there.
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

    /// Gives `name` of `from` the name `other` here. What has replaced it meanwhile keeps its name.
    /// - Throws: EEXIST where that is taken.
    func take(
      _ name: [UInt8], from: DirectoryHandle, as other: [UInt8], _ rename: Renaming = Folder.systemRename
    ) throws(SystemError) {
      do throws(SystemError) {
        try rename(from.descriptor, name, directory.descriptor, other)
      } catch {
        // Not every file system knows it (NFS, SMB): there a second name takes its place.
        guard error.code == EINVAL || error.code == ENOSYS else { throw error }
        try link(name, from: from, as: other)
      }
    }

    /// Renames without replacing, as renameat2(2) does.
    typealias Renaming =
      @Sendable (Descriptor, [UInt8], Descriptor, [UInt8]) throws(SystemError) -> Void

    /// The system's.
    static let systemRename: Renaming = { source, old, target, new throws(SystemError) in
      try call("renameat2", old, new) {
        reel_rename_without_replacing(source.rawValue, $0, target.rawValue, $1)
      }
    }

    private func link(_ name: [UInt8], from: DirectoryHandle, as other: [UInt8]) throws(SystemError) {
      let (source, target) = (from.descriptor, directory.descriptor)
      try Self.call("linkat", name, other) { linkat(source.rawValue, $0, target.rawValue, $1, 0) }
      // Nobody else changes a hidden name; the other one may mean another file by now, which says nothing of this one.
      if FileDisposal.original(of: name) != nil { return Folder(from).unlink(name) }
      guard let linked = try? directory.status(of: other).directoryIdentity else { return }
      do throws(SystemError) {
        try Folder(from).drop(name, ifStill: linked)
      } catch {
        unlink(other)
        throw error
      }
    }

    /// Removes a name of a file that has another one. Under a name that nobody else knows first: between a look and a
    /// removal, it may come to mean another file, which gets its name back (with the next start, where that fails).
    /// - Throws: when the name can't be changed: then it still has it.
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

    /// A number that is free, not below `first`: the first one that is where those before it are taken. It asks for few of
    /// them, however many there are.
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

    /// Calls `body` with `name`, and with that and a number as long as the name is taken.
    /// - Parameters:
    ///   - first: the number to begin with.
    ///   - mark: what the names begin with.
    ///   - spare: bytes by which they can grow.
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

    /// Bytes of a name that this folder's file system takes, where 255 are too many: encrypted folders (eCryptfs,
    /// Synology's) take 143, and not every system says so.
    var shortestName: Int {
      var facts = statvfs()
      guard fstatvfs(directory.descriptor.rawValue, &facts) == 0, facts.f_namemax < Self.longestName else {
        return 143
      }
      return max(64, Int(facts.f_namemax))
    }

    /// A number under which neither a file nor its sidecar meets another one. The same sidecar is not in the way:
    /// a crash may have left it.
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

    /// Each with a name that was free a moment ago, unless a text is in the way that says why another file was there.
    private static let mostTries = 100_000
    /// Bytes of a name that file systems take.
    private static let longestName = 255

    /// The name with a number, if that is not 0, before its extension; cut before that to what file systems take.
    static func numbered(_ name: [UInt8], _ number: Int, longest: Int = longestName) -> [UInt8] {
      var dot = name.lastIndex(of: UInt8(ascii: ".")).flatMap { $0 > 0 ? $0 : nil } ?? name.count
      // That is no extension, and would leave nothing to cut.
      if name.count - dot > 32 { dot = name.count }
      let end = (number == 0 ? [] : Array("-\(number)".utf8)) + name[dot...]
      var stem = name[..<dot].prefix(longest - end.count)
      // Not within a character, which has at most three bytes after its first.
      for _ in 0..<3 where stem.count < dot && name[stem.count] & 0xC0 == 0x80 { stem = stem.dropLast() }
      return stem + end
    }

    /// What is added to a name for that of the text that says why the file is there.
    static let explanation = Array(".txt".utf8)

    /// Writes a text, or the rest of it where a crash has left its beginning.
    /// - Returns: whether nothing was there.
    /// - Throws: EEXIST where something else is there.
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

  /// The folders that files go to, each opened once: a link or another folder that is put in the place of one gets
  /// nothing.
  package final class Folders: Sendable {
    private struct State {
      var opened: [SourcePath: DirectoryHandle] = [:]
      var swept: Set<DirectoryIdentity> = []
      var sidecars: [DirectoryIdentity: SidecarNames] = [:]
    }
    private let state = Mutex(State())

    package init() {}

    /// Which folder was opened by that path; nil before that.
    package func identity(of path: SourcePath) -> DirectoryIdentity? {
      state.withLock { $0.opened[path]?.identity }
    }

    /// Opens the folder, if that has not been done. Blocks.
    package func open(_ path: SourcePath) throws(SourceError) { _ = try find(path) }

    /// The very folder that was there when it was opened.
    /// - Throws: as ``Folder/init(_:)``.
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

    /// The names in `directory` that may have to do with that sidecar: as of a moment ago, so some may be gone. Nil where they
    /// can't be listed. Blocks.
    func names(in directory: DirectoryHandle, forSidecarsLike sidecar: [UInt8]) -> [[UInt8]]? {
      state.withLock { state in
        if state.sidecars[directory.identity]?.isFresh != true {
          state.sidecars = state.sidecars.filter { $0.value.isFresh }
          state.sidecars[directory.identity] = try? SidecarNames(of: directory)
        }
        return state.sidecars[directory.identity]?.all(forSidecarsLike: sidecar)
      }
    }

    /// Whether nobody has looked through the folder for what dead processes have left: it takes long where many files are.
    func isFirst(of directory: DirectoryHandle) -> Bool {
      state.withLock { $0.swept.insert(directory.identity).inserted }
    }
  }

  /// The names in a folder, by what they may have to do with a sidecar.
  struct SidecarNames {
    private let names: NameList
    /// Sorted.
    private let entries: [(hash: Int, index: Int)]
    /// For ten times as long as it took to make it: then it costs little, however many files go one after the other.
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

    /// Those that may be, or want, a sidecar of this name, or of one that prints alike; in order.
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

    /// Names that print alike, or are the same but for letter case, have one in common.
    private static func hashes(_ name: [UInt8]) -> Set<Int> {
      var hashes: Set = [folded(name).hashValue]
      if let key = AlikeName.key(name) { hashes.insert(key.hashValue) }
      return hashes
    }
  }

  /// A copy that is not done, under a hidden name of its own: two watches may move files of one name to one folder. It is
  /// locked as long as its process lives; what dead ones have left goes with the first draft that comes after it.
  final class Draft: StagingArea {
    let name: [UInt8]
    private let directory: DirectoryHandle
    private let file: DraftFile
    /// Whether it has become the copy.
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
      // Who sweeps may have found one before it was locked.
      for _ in 0..<8 {
        let name = mark + Array(SystemRandomness().name(length: 12).utf8)
        guard let path = try? PathBytes(name) else { continue }
        let opened = try retryingInterrupts("openat") {
          openat(
            directory.descriptor.rawValue, path.characters,
            O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        }
        let file = DraftFile(Descriptor(adopting: opened))
        // Where there are no locks, nobody sweeps.
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

    /// Gives it the times and the mode of the original, and waits until it is on its disk.
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
  /// Whether it is this file with these bytes, as far as that is seen: a new name changes the time of the last change.
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
