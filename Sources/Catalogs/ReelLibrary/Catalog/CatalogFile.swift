import FoundationEssentials
import Glibc
import ReelCore

/// Checks and creates the file of a catalog before SQLite opens it. Everything here blocks.
enum CatalogFile {
  /// Creates an empty file (0600), unless one that belongs to this user is there. SQLite would create one that
  /// everybody can read; the files beside it take their mode from this one.
  ///
  /// An existing file is not opened: closing it again would release every lock that another connection of this process
  /// has on it (fcntl(2), "Record locks").
  static func make(_ path: String) throws(CatalogError) {
    let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if file >= 0 {
      // The umask may have removed permissions of the owner, too.
      _ = fchmod(file, 0o600)
      close(file)
    } else if errno != EEXIST {
      throw failure(errno, path)
    }
    var facts = stat()
    guard stat(path, &facts) == 0 else { throw failure(errno, path) }
    try check(facts, of: path)
  }

  /// Creates an empty file for the index of the log (`-shm`), unless it is there. Even a full disk usually has room for
  /// an empty file. It fails for a process that may not write to the folder.
  static func makeIndexOfLog(of path: String) throws(CatalogError) {
    // An existing file is not opened, for the same reason as in ``make(_:)``.
    let file = open(path + "-shm", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if file >= 0 {
      close(file)
    } else if errno != EEXIST {
      throw failure(errno, path)
    }
  }

  /// Whether there is a file at `path` that is not empty.
  /// - Throws: `unusable` if it is not a regular file, `notOurs` if others may write to it.
  static func hasContent(_ path: String) throws(CatalogError) -> Bool {
    var facts = stat()
    guard stat(path, &facts) == 0 else {
      if errno == ENOENT { return false }
      throw failure(errno, path)
    }
    try check(facts, of: path)
    return facts.st_size > 0
  }

  /// The file that a path leads to.
  struct Identity: Hashable {
    let device: dev_t
    let inode: ino_t

    /// Nil if there is none.
    init?(at path: String) {
      var facts = stat()
      guard stat(path, &facts) == 0 else { return nil }
      (device, inode) = (facts.st_dev, facts.st_ino)
    }
  }

  /// Throws the reason why a file with these facts is refused, if there is one; pure.
  static func check(_ facts: stat, of path: String, user: uid_t = geteuid()) throws(CatalogError) {
    guard facts.st_mode & S_IFMT == S_IFREG else { throw failure(EISDIR, path) }
    guard facts.st_uid == user, facts.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
      throw CatalogError(
        .notOurs,
        "the catalog \(path) belongs to another user, or is writable by others: find out who has changed it, "
          + "then make it accessible to you alone (`chown`, `chmod 600`), or name another library with \(setting: .library)"
      )
    }
  }

  private static func failure(_ code: Int32, _ path: String) -> CatalogError {
    switch code {
    case ENOSPC, EDQUOT:
      return CatalogError(
        .diskFull, "no space left on the disk of the catalog \(path): free some, and try again")
    case EISDIR:
      return CatalogError(
        .unusable,
        "\(path) is not a file, where the catalog should be: move it away, or name another library with "
          + "\(setting: .library)")
    default:
      let reason = SystemError(code: code, call: "open").reason
      return CatalogError(
        .unusable,
        "the catalog \(path) cannot be opened (\(reason)): \(CatalogError.advice(code))")
    }
  }
}

/// The name of a store in the tables.
struct StoreName: Hashable, Sendable {
  let text: String

  /// The library's own store, wherever the library is. No store's address has such a name: a folder's begins with
  /// `file:`, any other with the name of its protocol.
  static let own = StoreName(text: "library:media")

  /// The prefix of its objects' URLs in the tables, for the own store and for any other folder. Nil for a store that is
  /// not a folder, which forms its objects' URLs in its own way.
  var objectBase: String? { self == .own || text.hasPrefix("file://") ? text + "/" : nil }
}

/// Where a catalog is, and what its names and URLs mean there.
///
/// In the tables, the library's own store has a name without a path, so that a library can be moved or copied.
/// Everywhere else that store has its present address.
struct CatalogPlace: Sendable {
  /// The path of the database.
  let path: String
  /// The path of the word index, which is built from the catalog; nil for a catalog in memory.
  var wordsPath: String? { media == nil ? nil : path.dropLast("catalog.sqlite".count) + "search.sqlite" }
  /// The folder of the library's own store; nil for a catalog in memory, which has none.
  let media: CanonicalPath?
  /// The own store's name as its uploader spells it.
  let ownStore: StoreName

  /// The place of a catalog that is not in a file.
  static let inMemory = CatalogPlace()

  private init() { (path, media, ownStore) = (":memory:", nil, .own) }

  init(path: String, media: CanonicalPath) {
    (self.path, self.media, ownStore) = (path, media, StoreName(text: media.fileURL))
  }

  init(_ library: LibraryFolder) {
    self.init(path: library.catalogPath, media: CanonicalPath(resolving: library.mediaPath))
  }

  func name(of destination: Destination) -> StoreName {
    let name = StoreName(text: destination.name)
    return name == ownStore ? .own : name
  }

  func destination(named name: String) -> Destination {
    Destination(name == StoreName.own.text ? ownStore.text : name)
  }

  /// Returns an object's URL as the tables hold it.
  func kept(_ url: String) -> String { Self.moved(url, from: ownStore, to: .own) }

  /// Returns an object's URL as it is shown outside the tables.
  func told(_ url: String) -> String { Self.moved(url, from: .own, to: ownStore) }

  private static func moved(_ url: String, from old: StoreName, to new: StoreName) -> String {
    guard let oldBase = old.objectBase, let newBase = new.objectBase, url.hasPrefix(oldBase) else {
      return url
    }
    return newBase + url.dropFirst(oldBase.count)
  }
}

/// Finds the rows that name the library's own store by a path, and removes the path from them.
struct OwnStore {
  let place: CatalogPlace

  /// Whether a row names the own store by the folder's present path. A Reel before version 3 wrote it, or the library
  /// was moved to where a store was that it used before.
  func isNamedByPath(in db: Connection) throws -> Bool {
    try DestinationTable.find(place.ownStore, in: db) != nil
  }

  /// Replaces the paths by which the tables name the own store.
  /// - Parameter version: the version of the tables before they were brought up to date. Before version 3, every store
  ///   was named by a path, so a library that was moved or copied names its own store by the old one.
  func adopt(in db: Connection, from version: Int) throws {
    if let id = try DestinationTable.find(place.ownStore, in: db) {
      try DestinationTable.rename(id, place.ownStore, to: .own, in: db)
    }
    guard version < 3 else { return }
    let stores = try db.rows("SELECT id, name FROM destination ORDER BY id") { row in
      (id: try row["id"] as Int64, name: StoreName(text: try row["name"]))
    }
    for (id, name) in stores {
      guard let former = Self.folder(name), former.hasSuffix("/media") else { continue }
      if try hasCome(id, from: former, in: db) { try DestinationTable.rename(id, name, to: .own, in: db) }
    }
  }

  /// Whether the store that was the folder `former` is now the own one: one of its objects is here, and either it is no
  /// longer there, or a library is still there, of which this one is a copy.
  ///
  /// A store elsewhere whose objects somebody copied into this folder stays what it is.
  private func hasCome(_ store: Int64, from former: String, in db: Connection) throws -> Bool {
    guard let media = place.media, Self.exists(media.text) else { return false }
    let library = former.dropLast("/media".count)
    return try db.row("SELECT objectKey FROM intent WHERE destination = ? ORDER BY number", [store]) { row in
      let key: String = try row[0]
      guard Self.exists(media.text + "/" + key) else { return nil }
      return !Self.exists(former + "/" + key) || Self.exists(library + "/catalog.sqlite")
    } ?? false
  }

  /// The path of a store that is a folder; nil for any other store.
  private static func folder(_ name: StoreName) -> String? {
    name.text.hasPrefix("file:///") ? URL(string: name.text)?.path(percentEncoded: false) : nil
  }

  private static func exists(_ path: String) -> Bool {
    var facts = stat()
    return stat(path, &facts) == 0
  }
}
