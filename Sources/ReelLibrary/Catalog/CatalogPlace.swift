import ReelCore

/// A store as the tables name it.
struct StoreName: Hashable, Sendable {
  let text: String

  /// The library's own store, wherever the library is. No address settles to a name like this: that of a folder begins
  /// with `file:`, any other with the name of its protocol.
  static let own = StoreName(text: "library:media")

  /// The prefix of its objects' URLs in the tables, and the prefix of those of another folder. Nil for a store that
  /// is not a folder: how its objects' URLs are made is its own matter.
  var objectBase: String? { self == .own || text.hasPrefix("file://") ? text + "/" : nil }
}

/// Where a catalog lies, and what its names and URLs mean there.
///
/// The library's own store has a name without a path in the tables, so that a library may be moved or copied.
/// Everybody else knows that store by its present address.
struct CatalogPlace: Sendable {
  /// The database, for messages.
  let path: String
  /// The folder of the library's own store.
  let media: CanonicalPath

  init(path: String, media: CanonicalPath) {
    self.path = path
    self.media = media
  }

  init(_ library: LibraryFolder) {
    self.init(path: library.catalogPath, media: CanonicalPath(resolving: library.mediaPath))
  }

  /// The own store's name as its uploader settles it.
  var ownStore: StoreName { StoreName(text: media.fileURL) }

  func name(of destination: Destination) -> StoreName {
    let name = StoreName(text: destination.name)
    return name == ownStore ? .own : name
  }

  func destination(named name: String) -> Destination {
    Destination(name == StoreName.own.text ? ownStore.text : name)
  }

  /// An object's URL as the tables keep it.
  func kept(_ url: String) -> String { Self.moved(url, from: ownStore, to: .own) }

  /// An object's URL as everybody else is told it.
  func told(_ url: String) -> String { Self.moved(url, from: .own, to: ownStore) }

  private static func moved(_ url: String, from old: StoreName, to new: StoreName) -> String {
    guard let oldBase = old.objectBase, let newBase = new.objectBase, url.hasPrefix(oldBase) else {
      return url
    }
    return newBase + url.dropFirst(oldBase.count)
  }
}
