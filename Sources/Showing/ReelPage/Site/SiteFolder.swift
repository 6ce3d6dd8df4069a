import CReel
import FoundationEssentials
import Glibc
import ReelCore
import ReelSource

/// A site's folder, which nobody else writes to as long as this lives.
final class SiteFolder: Sendable {
  /// What writing a file came to.
  enum Change: Sendable {
    case none, made, changed
  }

  let path: CanonicalPath
  private let root: Descriptor
  /// Files that are not whole yet.
  private static let temporaries = ".reel-page"

  /// What may lie in a folder that becomes a site: the store that it shows.
  private static let welcome: Set<String> = [MediaPlaces.name, temporaries]

  /// Makes the folder where it is missing, and takes its lock.
  init(_ path: CanonicalPath) throws(SiteError) {
    let root = try Self.locked(path.text)
    try Self.checkIsOurs(path.text)
    try Self.makeFolders(["/feed", "/" + Self.temporaries], in: path.text)
    self.path = path
    // Last of all: once every property is set, a throw runs deinit, which sweeps.
    self.root = root
    sweep()
  }

  /// The folder, locked before anything else in it is touched.
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
    // The folder of the index is what a first run makes first.
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

  /// Nothing is written after this. A process that ends does not wait for `deinit`.
  func removeTemporaries() {
    sweep()
    unlinkat(root.rawValue, Self.temporaries, AT_REMOVEDIR)
  }

  /// The bytes of a file; nil when there is none.
  func read(_ name: String) throws(SiteError) -> [UInt8]? {
    try Self.saying("\(path.text)/\(name) can't be read") { try bytes(of: name) }
  }

  /// The names in a folder of the site.
  func names(in folder: String) throws(SiteError) -> [String] {
    try Self.saying("\(path.text)/\(folder) can't be read") {
      try FileManager.default.contentsOfDirectory(atPath: path.text + "/" + folder)
    }
  }

  /// Whether there is something of that name.
  func holds(_ name: String) -> Bool { faccessat(root.rawValue, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 }

  /// Whether there is a file of that name, with `size` bytes, or any where that is nil: one that a power cut has emptied
  /// does not count.
  func holdsFile(_ name: String, size: Int64?) -> Bool {
    guard let found = self.size(of: name) else { return false }
    return size.map { $0 == found } ?? (found > 0)
  }

  /// The bytes of a file; nil when there is none of that name, or a link leads to it.
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

  /// Puts `bytes` in place of the file, whole or not at all; one that has them already stays untouched.
  /// - Parameter isDurable: whether its bytes are on the disk when it gets its name; ``syncNames()`` does the same for
  ///   the name, and ``sync()`` for all.
  func write(_ bytes: [UInt8], to name: String, isDurable: Bool) throws(SiteError) -> Change {
    let old = try read(name)
    if old == bytes { return .none }
    _ = try replace(name, isDurable: isDurable) { file throws(SystemError) in
      try file.write(all: bytes)
      return true
    }
    return old == nil ? .made : .changed
  }

  /// Adds `bytes` to the end of the file, made where it is missing; they are on the disk when this returns. Several may do
  /// so at once.
  func append(_ bytes: [UInt8], to name: String) throws(SiteError) {
    try Self.saying("\(path.text)/\(name) can't be written") { () throws(SystemError) in
      let file = try Descriptor(
        opening: name, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, mode: 0o666, in: root.rawValue)
      try file.write(all: bytes)
      try file.sync()
    }
  }

  /// The same for a file whose bytes `fill` writes. Nothing changes, and false is returned, when it says that they are
  /// not to be kept.
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

  /// Gives the file at `source` a second name in the site, in place of what has it. False when `opened` is no longer
  /// there.
  func link(_ source: String, to opened: Descriptor, as name: String) throws(SiteError) -> Bool {
    let temporary = Self.temporary(name)
    guard linkat(AT_FDCWD, source, root.rawValue, temporary, 0) == 0 else {
      if errno == ENOENT { return false }
      let advice =
        switch errno {
        case EXDEV: "; it is on another file system: use --media copy"
        // `fs.protected_hardlinks`.
        case EPERM, EACCES: "; it belongs to somebody else, perhaps: use --media copy"
        default: ""
        }
      throw SiteError(
        .unusable,
        "\(source) can't be linked into \(path.text): \(SystemError.last("link").reason)\(advice)")
    }
    // Both names stay where they are of one file already.
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

  /// The names of durable files of the site and its feed survive a power cut from then on, and what was removed there
  /// stays so.
  func syncNames() throws(SiteError) {
    try Self.saying("\(path.text) can't be written") { () throws(SystemError) in
      let feed = try Descriptor(opening: "feed", O_RDONLY | O_DIRECTORY, in: root.rawValue)
      try root.syncFolder()
      try feed.syncFolder()
    }
  }

  /// All that was written survives a power cut from then on.
  func sync() throws(SiteError) {
    guard reel_sync_file_system(root.rawValue) == 0 else {
      throw Self.failure("\(path.text) can't be written", SystemError.last("syncfs"))
    }
  }

  /// A link in the site would put what it leads to before the public: it is not the site's own.
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

  /// Removes what a run left that was killed.
  private func sweep() {
    let folder = path.text + "/" + Self.temporaries
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      remove(Self.temporaries + "/" + name)
    }
  }

  /// Does `body`; where that fails, `what` can't be done.
  private static func saying<Value, Cause>(
    _ what: String, _ body: () throws(Cause) -> Value
  ) throws(SiteError) -> Value {
    try rethrowing(as: { failure(what, $0) }, body)
  }

  /// - Parameter what: that something can't be done, such as "site/feed can't be read".
  static func failure(_ what: String, _ error: any Error) -> SiteError {
    let cause = ((error as? CocoaError)?.underlying as? POSIXError).map {
      SystemError(code: $0.code.rawValue, call: "mkdir")
    }
    let reason = (error as? SystemError ?? cause)?.reason ?? (error as? SourceError)?.message ?? "\(error)"
    return SiteError(.unusable, "\(what) (\(reason)): check its permissions, and the space on its disk")
  }
}
