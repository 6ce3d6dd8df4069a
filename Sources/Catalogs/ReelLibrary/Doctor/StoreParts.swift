import ReelCore

/// A part of what a store holds: of all names up to `end`, those that no earlier part had.
struct StorePart {
  /// The objects' bytes by name, where the list states them.
  var objects: [String: Int64?] = [:]
  /// The last name of this part; nil if it has all names that are left.
  var end: String?
  /// Whether it has everything in the store, whatever the earlier parts had.
  var isWhole = false
}

/// What a store holds, in the order of names (of their UTF-8), a page at a time: only one page is in memory, however
/// many objects there are. A store that is listed in another order, or not by pages, is a single part.
struct StoreParts {
  private let store: LibraryExamination.Store
  private var pages: StorePages?
  private var last: String?
  private var isOver = false

  init(_ store: LibraryExamination.Store) {
    self.store = store
    pages = (store as? any StoreListing).map(StorePages.init)
  }

  /// Returns nil after the last part.
  mutating func next() async throws(UploadError) -> StorePart? {
    if isOver { return nil }
    guard let page = try await pages?.next() else {
      isOver = true
      // After a listing by pages, this part has the names after the last one.
      if pages != nil { return StorePart() }
      return StorePart(try await store.names().map { ($0, nil) }, end: nil, isWhole: true)
    }
    for object in page.objects {
      if let last, !last.precedes(object.name) { return try await whole() }
      last = object.name
    }
    return StorePart(page.objects, end: last ?? "")
  }

  /// Lists everything: what seemed to be missing from one part may come in a later one.
  private mutating func whole() async throws(UploadError) -> StorePart {
    isOver = true
    guard let listing = store as? any StoreListing else { return StorePart() }
    var (pages, objects) = (StorePages(listing), [(name: String, size: Int64?)]())
    while let page = try await pages.next() { objects += page.objects }
    return StorePart(objects, end: nil, isWhole: true)
  }
}

extension StorePart {
  fileprivate init(_ objects: [(name: String, size: Int64?)], end: String?, isWhole: Bool = false) {
    self.init(
      objects: Dictionary(objects.map { ($0.name, $0.size) }) { first, _ in first }, end: end,
      isWhole: isWhole)
  }
}

extension String {
  /// Whether it comes before `other` by the bytes of their UTF-8, as stores and catalogs order names.
  func precedes(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }
}
