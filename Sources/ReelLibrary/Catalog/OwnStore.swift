import FoundationEssentials
import Glibc
import ReelCore

/// Finds the rows that name the library's own store by a path, and takes the path out of them.
struct OwnStore {
  let place: CatalogPlace

  /// Whether a row names the folder of the own store as it is now: written by a Reel before version 3, or the library
  /// has come to lie around a store that had been elsewhere.
  func isNamedByPath(in db: Connection) throws -> Bool {
    try DestinationTable.find(place.ownStore, in: db) != nil
  }

  /// - Parameter version: of the tables before they were brought up to date. Before version 3 every store was named
  ///   by a path, so a library that was moved or copied names its own store by the old one.
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

  /// Whether the store that was the folder `former` is the own one today: an object of it is here, and it is not there
  /// any more, or the library that was there is (this one is a copy of it then).
  ///
  /// A store elsewhere whose objects somebody copied into this folder stays what it is.
  private func hasCome(_ store: Int64, from former: String, in db: Connection) throws -> Bool {
    guard Self.exists(media.text) else { return false }
    let library = former.dropLast("/media".count)
    return try db.row("SELECT objectKey FROM intent WHERE destination = ? ORDER BY number", [store]) { row in
      let key: String = try row[0]
      guard Self.exists(media.text + "/" + key) else { return nil }
      return !Self.exists(former + "/" + key) || Self.exists(library + "/catalog.sqlite")
    } ?? false
  }

  private var media: CanonicalPath { place.media }

  /// The path of a store that is a folder.
  private static func folder(_ name: StoreName) -> String? {
    name.text.hasPrefix("file:///") ? URL(string: name.text)?.path(percentEncoded: false) : nil
  }

  private static func exists(_ path: String) -> Bool {
    var facts = stat()
    return stat(path, &facts) == 0
  }
}
