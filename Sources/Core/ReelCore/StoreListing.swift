/// A store that is listed page by page.
package protocol StoreListing: Uploader, StoreExamination {
  /// Returns one page of the store's objects.
  /// - Parameter token: The token from the previous page; nil for the first page.
  /// - Throws: As ``StoreExamination/names()``.
  func page(after token: String?) async throws(UploadError) -> StorePage
}

/// One page of a store's objects.
package struct StorePage: Sendable {
  /// Their names, and their sizes in bytes if the listing states them.
  package var objects: [(name: String, size: Int64?)]
  /// The token of the next page; nil after the last.
  package var next: String?

  package init(_ objects: [(name: String, size: Int64?)], next: String?) {
    (self.objects, self.next) = (objects, next)
  }
}

/// Follows the pages of a listing, and detects a listing that never ends, as some stores return.
package struct PageTrail: Sendable {
  private var tokens: Set<String> = []
  private var last: String?
  /// The number of consecutive pages without a name.
  private var empty = 0
  /// How many consecutive pages may be empty: a store may look through that many deleted objects without finding a
  /// name (Ceph).
  private static let mostEmpty = 100

  package init() {}

  /// Whether the page leads on to new ones, or ends the list. A store that ignores the token returns the same names
  /// forever, perhaps with a different token each time.
  /// - Parameters:
  ///   - next: The token of the next page, as the page states it.
  ///   - name: The last name on the page; nil if it has none.
  package mutating func goesOn(to next: String?, after name: String?) -> Bool {
    guard let next else { return true }
    empty = name == nil ? empty + 1 : 0
    defer { last = name ?? last }
    return tokens.insert(next).inserted && (name == nil || name != last) && empty <= Self.mostEmpty
  }
}

/// All pages of a store's listing, one after another.
package struct StorePages {
  private let store: any StoreListing
  private var trail = PageTrail()
  private var token: String?
  private var isOver = false

  package init(_ store: any StoreListing) { self.store = store }

  /// The next page; nil after the last.
  package mutating func next() async throws(UploadError) -> StorePage? {
    if isOver { return nil }
    let page = try await store.page(after: token)
    guard trail.goesOn(to: page.next, after: page.objects.last?.name) else {
      throw UploadError(.rejected, "\(store.destination) does not say how its list of objects continues")
    }
    (token, isOver) = (page.next, page.next == nil)
    return page
  }
}

extension StoreListing {
  /// All names on all pages.
  package func allNames() async throws(UploadError) -> [String] {
    var (pages, names) = (StorePages(self), [String]())
    while let page = try await pages.next() { names += page.objects.map(\.name) }
    return names
  }
}
