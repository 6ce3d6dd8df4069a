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

/// All pages of a store, one after the other.
package struct StorePages {
  private let store: any StoreListing
  private var tokens: Set<String> = []
  private var token: String?
  /// The last name so far.
  private var last: String?
  private var isOver = false

  package init(_ store: any StoreListing) { self.store = store }

  /// Nil after the last.
  package mutating func next() async throws(UploadError) -> StorePage? {
    if isOver { return nil }
    let page = try await store.page(after: token)
    let name = page.objects.last?.name
    // A store that heeds no token may give the same page for ever, each time with another one.
    let isNew = page.next.map { tokens.insert($0).inserted && (name == nil || name != last) } ?? true
    guard isNew else {
      throw UploadError(.rejected, "\(store.destination) does not say how its list of objects goes on")
    }
    (token, isOver, last) = (page.next, page.next == nil, name ?? last)
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
