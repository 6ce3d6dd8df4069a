import Glibc
import ReelCore

/// The folder that holds a catalog, its temporaries and, by default, its media; ours alone.
///
/// A value of this type is a folder that was there, that belongs to this user, and that nobody else may
/// write to.
public struct LibraryFolder: Hashable, Sendable {
  /// Absolute, without links.
  public let path: String

  /// The database.
  public var catalogPath: String { path + "/catalog.sqlite" }
  /// Locks of running processes and temporaries of their uploads.
  public var temporaryPath: String { path + "/tmp" }
  /// Where a folder store is when nobody names another; made by that store.
  public var mediaPath: String { path + "/media" }

  private init(checked path: String) { self.path = path }

  /// Where the library is: `explicit` (`--library`), else `$REEL_LIBRARY`, else `$XDG_DATA_HOME/reel`, else
  /// `$HOME/.local/share/reel`. An empty variable counts as none; as the XDG Base Directory Specification
  /// has it, an `XDG_DATA_HOME` that is not absolute does too, and so does such a `HOME`. Nil when none of them says.
  public static func location(explicit: String?, environment: [String: String]) -> String? {
    func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    if let explicit, !explicit.isEmpty { return explicit }
    if let named = value("REEL_LIBRARY") { return named }
    if let data = value("XDG_DATA_HOME"), data.hasPrefix("/") { return data + "/reel" }
    guard let home = value("HOME"), home.hasPrefix("/") else { return nil }
    return home + "/.local/share/reel"
  }

  /// The library at `path`, made (0700, with the folders above it) where it is missing.
  /// - Throws: ``CatalogError``: `notOurs`, `diskFull`, or `unusable` for everything else that stands in
  ///   the way.
  public static func prepare(at path: String) async throws(CatalogError) -> LibraryFolder {
    try await BlockingQueue(label: "reel.library", width: 1).run { () throws(CatalogError) in
      try prepareNow(at: path)
    }
  }

  /// The same on this thread. Blocks.
  static func prepareNow(at path: String) throws(CatalogError) -> LibraryFolder {
    try FolderCheck.make(path)
    let library = try checked(path)
    try FolderCheck.make(library.temporaryPath)
    return library
  }

  /// The library at `path`, or nil when there is none; makes nothing.
  /// - Throws: ``CatalogError``: `notOurs` or `unusable`.
  public static func existing(at path: String) async throws(CatalogError) -> LibraryFolder? {
    try await BlockingQueue(label: "reel.library", width: 1).run { () throws(CatalogError) in
      guard try FolderCheck.isThere(path) else { return nil }
      return try checked(path)
    }
  }

  private static func checked(_ path: String) throws(CatalogError) -> LibraryFolder {
    let library = LibraryFolder(checked: try FolderCheck.settled(path))
    try SharedFileSystem.check(library.path)
    return library
  }
}

/// Makes folders that are ours alone, and refuses those that are not. Everything here blocks.
enum FolderCheck {
  /// Makes `path` and the folders above it, 0700, or checks it when it is there.
  static func make(_ path: String) throws(CatalogError) {
    if try isThere(path) { return try makeDurable(path, isNew: false) }
    if let parent = parent(of: path), !exists(parent) { try make(parent) }
    // Nothing is made where it would be called otherwise.
    _ = try settled(parent(of: path) ?? ".", for: path)
    if mkdir(path, 0o700) == 0 {
      // The umask may have taken from the owner, too.
      try rethrowing(as: { failure($0.code, making: path) }) { () throws(SystemError) in
        try settleMode(0o700, of: path)
      }
    } else if errno != EEXIST {
      // EEXIST: another process was faster; what it made is checked below.
      throw failure(errno, making: path)
    }
    try makeDurable(path, isNew: true)
    guard try isThere(path) else { throw failure(ENOENT, making: path) }
  }

  /// Whether a folder of ours is at `path`.
  /// - Throws: `notOurs` or `unusable` when something else is.
  static func isThere(_ path: String) throws(CatalogError) -> Bool {
    var facts = stat()
    guard stat(path, &facts) == 0 else {
      if errno == ENOENT { return false }
      throw failure(errno, making: path)
    }
    try check(facts, of: path)
    return true
  }

  /// `path`, absolute and without links.
  /// - Parameter wanted: the folder that it is asked for; itself where nil.
  static func settled(_ path: String, for wanted: String? = nil) throws(CatalogError) -> String {
    let wanted = wanted ?? path
    guard let settled = realpath(path, nil) else { throw failure(errno, making: wanted) }
    defer { free(settled) }
    guard let text = String(validatingCString: settled) else {
      let real = SourcePath(bytes: UnsafeRawBufferPointer(start: settled, count: strlen(settled)))
      throw CatalogError(
        .unusable,
        "the library's folder \(wanted) lies behind a path that is not UTF-8 (\(real)): name another with \(setting: .library)"
      )
    }
    return text
  }

  /// Why a folder with these facts is refused; pure.
  static func check(_ facts: stat, of path: String, user: uid_t = geteuid()) throws(CatalogError) {
    guard facts.st_mode & S_IFMT == S_IFDIR else {
      throw CatalogError(
        .unusable,
        "\(path) is a file where the library's folder should be: name a folder with \(setting: .library)")
    }
    guard facts.st_uid == user else {
      throw CatalogError(
        .notOurs,
        "the library's folder \(path) belongs to another user (\(facts.st_uid), you are \(user)): name one "
          + "of your own with \(setting: .library)")
    }
    guard facts.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
      throw CatalogError(
        .notOurs,
        "others may write to the library's folder \(path): look who has been there, then run "
          + "`chmod go-w` on it, or name another with \(setting: .library)")
    }
  }

  /// Makes the name of the folder at `path` durable: what is kept in it must not go with the power because the
  /// folder does. One that was there may have been made a moment ago, by a process that died of it.
  private static func makeDurable(_ path: String, isNew: Bool) throws(CatalogError) {
    try rethrowing(as: { failure($0.code, making: path) }) { () throws(SystemError) in
      if isNew { try Failpoint.libraryFolderMade.reach() }
      try syncParent(of: path)
      if isNew { try Failpoint.libraryFolderSettled.reach() }
    }
  }

  private static func syncParent(of path: String) throws(SystemError) {
    let raw = open(parent(of: path) ?? ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    // One that we may enter and not read: nobody but its owner can sync it.
    if raw < 0, errno == EACCES { return }
    guard raw >= 0 else { throw SystemError.last("open") }
    do {
      try Descriptor(adopting: raw).syncFolder()
    } catch  where error.code == EROFS {
      // A file system that can't change has nothing to make durable.
    }
  }

  private static func exists(_ path: String) -> Bool {
    var facts = stat()
    return stat(path, &facts) == 0
  }

  private static func parent(of path: String) -> String? {
    var rest = path[...]
    while rest.count > 1, rest.hasSuffix("/") { rest.removeLast() }
    guard let slash = rest.lastIndex(of: "/") else { return nil }
    return slash == rest.startIndex ? "/" : String(rest[..<slash])
  }

  private static func failure(_ code: Int32, making path: String) -> CatalogError {
    let reason = SystemError(code: code, call: "mkdir").reason
    switch code {
    case ENOSPC, EDQUOT:
      return CatalogError(
        .diskFull, "no space left for the library's folder \(path): free some, or name another disk's folder")
    case EROFS:
      return CatalogError(
        .unusable,
        "the library's folder \(path) is on a file system that is mounted read-only: name another with "
          + "\(setting: .library)")
    case EACCES, EPERM:
      return CatalogError(
        .unusable,
        "no permission for the library's folder \(path): name one of your own with \(setting: .library)")
    case ENOTDIR:
      return CatalogError(
        .unusable,
        "the library's folder cannot be \(path), a part of that path is a file: name another with \(setting: .library)"
      )
    default:
      return CatalogError(
        .unusable,
        "the library's folder \(path) cannot be used (\(reason)): name another with \(setting: .library)")
    }
  }
}
