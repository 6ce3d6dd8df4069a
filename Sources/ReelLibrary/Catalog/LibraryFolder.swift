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
      try FolderCheck.make(path)
      let library = try checked(path)
      try FolderCheck.make(library.temporaryPath)
      return library
    }
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
