/// A store that is listed by pages.
package protocol StoreListing: Uploader, StoreExamination {
  /// Some of the store's objects.
  /// - Parameter token: as the page before said; nil for the first.
  /// - Throws: as ``StoreExamination/names()``.
  func page(after token: String?) async throws(UploadError) -> StorePage
}

/// Some of a store's objects.
package struct StorePage: Sendable {
  /// Their names, and their bytes where the list tells them.
  package var objects: [(name: String, size: Int64?)]
  /// Where the next page begins; nil after the last.
  package var next: String?

  package init(_ objects: [(name: String, size: Int64?)], next: String?) {
    (self.objects, self.next) = (objects, next)
  }
}

/// The way from page to page through a list, which some stores give no end.
package struct PageTrail: Sendable {
  private var tokens: Set<String> = []
  private var last: String?
  /// Pages without a name, one behind the other.
  private var empty = 0
  /// A store may look through so much without finding a name (Ceph, of what was deleted).
  private static let mostEmpty = 100

  package init() {}

  /// Whether a page leads on, or ends the list. A store that heeds no token gives the same names for ever, each time with
  /// another token if need be.
  /// - Parameters:
  ///   - next: where it says that the next page begins.
  ///   - name: the last one on it; nil where it has none.
  package mutating func goesOn(to next: String?, after name: String?) -> Bool {
    guard let next else { return true }
    empty = name == nil ? empty + 1 : 0
    defer { last = name ?? last }
    return tokens.insert(next).inserted && (name == nil || name != last) && empty <= Self.mostEmpty
  }
}

/// All pages of a store, one after the other.
package struct StorePages {
  private let store: any StoreListing
  private var trail = PageTrail()
  private var token: String?
  private var isOver = false

  package init(_ store: any StoreListing) { self.store = store }

  /// Nil after the last.
  package mutating func next() async throws(UploadError) -> StorePage? {
    if isOver { return nil }
    let page = try await store.page(after: token)
    guard trail.goesOn(to: page.next, after: page.objects.last?.name) else {
      throw UploadError(.rejected, "\(store.destination) does not say how its list of objects goes on")
    }
    (token, isOver) = (page.next, page.next == nil)
    return page
  }
}

extension StoreListing {
  /// What all pages hold.
  package func allNames() async throws(UploadError) -> [String] {
    var (pages, names) = (StorePages(self), [String]())
    while let page = try await pages.next() { names += page.objects.map(\.name) }
    return names
  }
}
