import CReel
import FoundationEssentials
import Glibc
import ReelCore
import ReelSource

/// A site's folder, locked against other writers for the lifetime of this object.
final class SiteFolder: Sendable {
  /// The effect of writing a file.
  enum Change: Sendable {
    case none, made, changed
  }

  let path: CanonicalPath
  private let root: Descriptor
  /// The folder for unfinished files.
  private static let temporaries = ".reel-page"

  /// What a folder that becomes a site may already hold: the store that it shows.
  private static let welcome: Set<String> = [MediaPlaces.name, temporaries]

  /// Creates the folder if necessary, and takes its lock.
  init(_ path: CanonicalPath) throws(SiteError) {
    let root = try Self.locked(path.text)
    try Self.checkIsOurs(path.text)
    try Self.makeFolders(["/feed", "/" + Self.temporaries], in: path.text)
    self.path = path
    // Set this last: once every property is set, a throw would run deinit, which sweeps.
    self.root = root
    sweep()
  }

  /// Opens the folder and locks it before anything in it is touched.
  private static func locked(_ path: String) throws(SiteError) -> Descriptor {
    try makeFolders([""], in: path)
    let root = try saying("the folder \(path) can't be opened") { () throws(SystemError) in
      try Descriptor(opening: path, O_RDONLY | O_DIRECTORY)
    }
    guard flock(root.rawValue, LOCK_EX | LOCK_NB) == 0 else {
      throw SiteError(
        .busy,
        "another reel page is writing to \(path): wait for its end, then run the same command again")
    }
    return root
  }

  private static func makeFolders(_ names: [String], in path: String) throws(SiteError) {
    try saying("the folder \(path) can't be made") {
      for name in names {
        try FileManager.default.createDirectory(atPath: path + name, withIntermediateDirectories: true)
      }
    }
  }

  private static func checkIsOurs(_ path: String) throws(SiteError) {
    if FileManager.default.fileExists(atPath: path + "/feed/index.json") { return }
    let names = try saying("the folder \(path) can't be read") {
      try FileManager.default.contentsOfDirectory(atPath: path)
    }
    // A first run begins by creating the folder of the index.
    let foreign = names.sorted().first { name in
      !name.hasPrefix(".") && !welcome.contains(name) && !(name == "feed" && isEmpty(path + "/feed"))
    }
    guard let foreign else { return }
    throw SiteError(
      .notOurs, "\(path) holds \(foreign), which reel page did not write; name an empty folder or a new one")
  }

  private static func isEmpty(_ path: String) -> Bool {
    (try? FileManager.default.contentsOfDirectory(atPath: path))?.isEmpty ?? false
  }

  deinit { removeTemporaries() }

  /// Removes the temporary files; nothing may be written afterwards. Needed because a process that exits does not run
  /// `deinit`.
  func removeTemporaries() {
    sweep()
    unlinkat(root.rawValue, Self.temporaries, AT_REMOVEDIR)
  }

  /// The bytes of a file; nil if there is none.
  func read(_ name: String) throws(SiteError) -> [UInt8]? {
    try Self.saying("\(path.text)/\(name) can't be read") { try bytes(of: name) }
  }

  /// The names in a folder of the site.
  func names(in folder: String) throws(SiteError) -> [String] {
    try Self.saying("\(path.text)/\(folder) can't be read") {
      try FileManager.default.contentsOfDirectory(atPath: path.text + "/" + folder)
    }
  }

  /// Whether anything of that name exists.
  func holds(_ name: String) -> Bool { faccessat(root.rawValue, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 }

  /// Whether there is a file of that name with `size` bytes. If `size` is nil, any file counts, except an empty one
  /// that a power failure may have left.
  func holdsFile(_ name: String, size: Int64?) -> Bool {
    guard let found = self.size(of: name) else { return false }
    return size.map { $0 == found } ?? (found > 0)
  }

  /// The size of a file in bytes; nil if there is no file of that name, or only a symbolic link.
  func size(of name: String) -> Int64? {
    guard let file = try? root.openFile(name) else { return nil }
    var status = stat()
    guard fstat(file.rawValue, &status) == 0 else { return nil }
    return Int64(status.st_size)
  }

  func makeFolder(_ name: String) throws(SiteError) {
    guard mkdirat(root.rawValue, name, 0o777) == 0 || errno == EEXIST else {
      throw Self.failure("the folder \(path.text)/\(name) can't be made", SystemError.last("mkdir"))
    }
  }

  /// Replaces the file's contents with `bytes`, completely or not at all. A file that already has them stays untouched.
  /// - Parameter isDurable: whether the bytes are synced before the file gets its name; ``syncNames()`` does the same
  ///   for the name, and ``sync()`` for everything.
  func write(_ bytes: [UInt8], to name: String, isDurable: Bool) throws(SiteError) -> Change {
    let old = try read(name)
    if old == bytes { return .none }
    _ = try replace(name, isDurable: isDurable) { file throws(SystemError) in
      try file.write(all: bytes)
      return true
    }
    return old == nil ? .made : .changed
  }

  /// Appends `bytes` to the file, creating it if necessary, and syncs it. Several callers may do so at once.
  func append(_ bytes: [UInt8], to name: String) throws(SiteError) {
    try Self.saying("\(path.text)/\(name) can't be written") { () throws(SystemError) in
      let file = try Descriptor(
        opening: name, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, mode: 0o666, in: root.rawValue)
      try file.write(all: bytes)
      try file.sync()
    }
  }

  /// Like ``write(_:to:isDurable:)``, for a file whose bytes `fill` writes. If `fill` returns false, nothing changes,
  /// and this returns false.
  func replace(
    _ name: String, isDurable: Bool, _ fill: (Descriptor) throws(SystemError) -> Bool
  ) throws(SiteError) -> Bool {
    let temporary = Self.temporary(name)
    return try Self.saying("\(path.text)/\(name) can't be written") { () throws(SystemError) in
      let file = try Descriptor(
        opening: temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o666, in: root.rawValue)
      guard try fill(file) else {
        remove(temporary)
        return false
      }
      if isDurable { try file.sync() }
      _ = try retryingInterrupts("rename") { renameat(root.rawValue, temporary, root.rawValue, name) }
      return true
    }
  }

  /// Gives the file at `source` a second name in the site, replacing what has that name. Returns false if the file is
  /// no longer `opened`.
  func link(_ source: String, to opened: Descriptor, as name: String) throws(SiteError) -> Bool {
    let temporary = Self.temporary(name)
    guard linkat(AT_FDCWD, source, root.rawValue, temporary, 0) == 0 else {
      if errno == ENOENT { return false }
      let advice =
        switch errno {
        case EXDEV: "; it is on another file system: use --media copy"
        // Because of the sysctl `fs.protected_hardlinks`.
        case EPERM, EACCES: "; it may belong to another user: use --media copy"
        default: ""
        }
      throw SiteError(
        .unusable,
        "\(source) can't be linked into \(path.text): \(SystemError.last("link").reason)\(advice)")
    }
    // rename(2) does nothing if both names already are links to one file.
    defer { remove(temporary) }
    var (linked, proven) = (stat(), stat())
    guard fstatat(root.rawValue, temporary, &linked, AT_SYMLINK_NOFOLLOW) == 0,
      fstat(opened.rawValue, &proven) == 0, linked.st_dev == proven.st_dev, linked.st_ino == proven.st_ino
    else { return false }
    try Self.saying("\(path.text)/\(name) can't be written") { () throws(SystemError) in
      _ = try retryingInterrupts("rename") { renameat(root.rawValue, temporary, root.rawValue, name) }
    }
    return true
  }

  private static func temporary(_ name: String) -> String {
    temporaries + "/" + name.split(separator: "/").joined(separator: "-")
  }

  func remove(_ name: String) { unlinkat(root.rawValue, name, 0) }

  /// Makes the names of durable files in the site and its feed survive a power failure, and removals there as well.
  func syncNames() throws(SiteError) {
    try Self.saying("\(path.text) can't be written") { () throws(SystemError) in
      let feed = try Descriptor(opening: "feed", O_RDONLY | O_DIRECTORY, in: root.rawValue)
      try root.syncFolder()
      try feed.syncFolder()
    }
  }

  /// Makes everything written so far survive a power failure.
  func sync() throws(SiteError) {
    guard reel_sync_file_system(root.rawValue) == 0 else {
      throw Self.failure("\(path.text) can't be written", SystemError.last("syncfs"))
    }
  }

  /// Reads a file, but follows no link: the target of a link is not part of the site and must not be published.
  private func bytes(of name: String) throws -> [UInt8]? {
    let file: Descriptor
    do throws(SourceError) {
      file = try root.openFile(name)
    } catch {
      if error.code == .notFound || error.code == .isLink { return nil }
      throw error
    }
    return try file.readToEnd()
  }

  /// Removes what a killed run has left.
  private func sweep() {
    let folder = path.text + "/" + Self.temporaries
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      remove(Self.temporaries + "/" + name)
    }
  }

  /// Runs `body`, and adds `what` to its error.
  private static func saying<Value, Cause>(
    _ what: String, _ body: () throws(Cause) -> Value
  ) throws(SiteError) -> Value {
    try rethrowing(as: { failure(what, $0) }, body)
  }

  /// - Parameter what: what can't be done, such as "site/feed can't be read".
  static func failure(_ what: String, _ error: any Error) -> SiteError {
    let cause = ((error as? CocoaError)?.underlying as? POSIXError).map {
      SystemError(code: $0.code.rawValue, call: "mkdir")
    }
    let reason = (error as? SystemError ?? cause)?.reason ?? (error as? SourceError)?.message ?? "\(error)"
    return SiteError(.unusable, "\(what) (\(reason)): check its permissions, and the space on its disk")
  }
}
