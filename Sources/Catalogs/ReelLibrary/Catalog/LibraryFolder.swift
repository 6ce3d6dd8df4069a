import Glibc
import ReelCore

/// The folder that holds a catalog, its temporary files and, by default, its media. It belongs to this user alone.
///
/// A value of this type stands for a folder that existed, belonged to this user, and was not writable for anybody else.
public struct LibraryFolder: Hashable, Sendable {
  /// The absolute path, without symbolic links.
  public let path: String

  /// The path of the database.
  public var catalogPath: String { path + "/catalog.sqlite" }
  /// The folder for the locks of running processes and the temporary files of their uploads.
  public var temporaryPath: String { path + "/tmp" }
  /// The folder of the default store, which that store creates.
  public var mediaPath: String { path + "/media" }

  private init(checked path: String) { self.path = path }

  /// Where the library is: `explicit` (`--library`), else `$REEL_LIBRARY`, else `$XDG_DATA_HOME/reel`, else
  /// `$HOME/.local/share/reel`. An empty variable counts as unset. So does an `XDG_DATA_HOME` that is not absolute, as
  /// the XDG Base Directory Specification demands, and such a `HOME`. Nil if none of them is set.
  public static func location(explicit: String?, environment: [String: String]) -> String? {
    func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    if let explicit, !explicit.isEmpty { return explicit }
    if let named = value("REEL_LIBRARY") { return named }
    if let data = value("XDG_DATA_HOME"), data.hasPrefix("/") { return data + "/reel" }
    guard let home = value("HOME"), home.hasPrefix("/") else { return nil }
    return home + "/.local/share/reel"
  }

  /// Returns the library at `path`. Its folder is created (0700) if it is missing, with the folders above it.
  /// - Throws: ``CatalogError``: `notOurs`, `diskFull`, or `unusable` for every other obstacle.
  public static func prepare(at path: String) async throws(CatalogError) -> LibraryFolder {
    try await BlockingQueue(label: "reel.library", width: 1).run { () throws(CatalogError) in
      try prepareNow(at: path)
    }
  }

  /// Does the same on this thread. Blocks.
  static func prepareNow(at path: String) throws(CatalogError) -> LibraryFolder {
    try FolderCheck.make(path)
    let library = try checked(path)
    try FolderCheck.make(library.temporaryPath)
    return library
  }

  /// Returns the library at `path`, or nil if there is none; creates nothing.
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

/// Creates folders that belong to this user alone, and refuses others. Everything here blocks.
enum FolderCheck {
  /// Creates `path` (0700) and the folders above it, or checks `path` if it is there.
  static func make(_ path: String) throws(CatalogError) {
    if try isThere(path) { return try makeDurable(path, isNew: false) }
    if let parent = parent(of: path), !exists(parent) { try make(parent) }
    // Throw before anything is created if the real path is not UTF-8.
    _ = try settled(parent(of: path) ?? ".", for: path)
    if mkdir(path, 0o700) == 0 {
      // The umask may have removed permissions of the owner, too.
      try rethrowing(as: { failure($0.code, making: path) }) { () throws(SystemError) in
        try settleMode(0o700, of: path)
      }
    } else if errno != EEXIST {
      // EEXIST: another process was faster, and what it created is checked below.
      throw failure(errno, making: path)
    }
    try makeDurable(path, isNew: true)
    guard try isThere(path) else { throw failure(ENOENT, making: path) }
  }

  /// Whether a folder of this user is at `path`.
  /// - Throws: `notOurs` or `unusable` if something else is.
  static func isThere(_ path: String) throws(CatalogError) -> Bool {
    var facts = stat()
    guard stat(path, &facts) == 0 else {
      if errno == ENOENT { return false }
      throw failure(errno, making: path)
    }
    try check(facts, of: path)
    return true
  }

  /// Returns `path` as an absolute path without symbolic links.
  /// - Parameter wanted: the folder to name in messages; nil for `path` itself.
  static func settled(_ path: String, for wanted: String? = nil) throws(CatalogError) -> String {
    let wanted = wanted ?? path
    guard let settled = realpath(path, nil) else { throw failure(errno, making: wanted) }
    defer { free(settled) }
    guard let text = String(validatingCString: settled) else {
      let real = SourcePath(bytes: UnsafeRawBufferPointer(start: settled, count: strlen(settled)))
      throw CatalogError(
        .unusable,
        "the library's folder \(wanted) resolves to a path that is not UTF-8 (\(real)): name another with \(setting: .library)"
      )
    }
    return text
  }

  /// Throws the reason why a folder with these facts is refused, if there is one; pure.
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
        "the library's folder \(path) is writable by others: find out who has written to it, then run "
          + "`chmod go-w` on it, or name another with \(setting: .library)")
    }
  }

  /// Makes the name of the folder at `path` durable, or a power failure could remove the folder with all that was kept
  /// in it. An existing folder may have been created a moment ago, by a process that has died since.
  private static func makeDurable(_ path: String, isNew: Bool) throws(CatalogError) {
    try rethrowing(as: { failure($0.code, making: path) }) { () throws(SystemError) in
      if isNew { try Failpoint.libraryFolderMade.reach() }
      try syncParent(of: path)
      if isNew { try Failpoint.libraryFolderSettled.reach() }
    }
  }

  private static func syncParent(of path: String) throws(SystemError) {
    let raw = open(parent(of: path) ?? ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    // A folder that this process may enter but not read can only be synced by its owner.
    if raw < 0, errno == EACCES { return }
    guard raw >= 0 else { throw SystemError.last("open") }
    do {
      try Descriptor(adopting: raw).syncFolder()
    } catch  where error.code == EROFS {
      // A read-only file system has nothing to make durable.
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
