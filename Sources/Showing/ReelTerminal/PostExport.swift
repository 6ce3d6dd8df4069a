import ReelCore

/// Exports all posts of a catalog.
package struct PostExport: Sendable {
  package let catalog: any PostCatalog
  package let table: PostTable

  package init(catalog: any PostCatalog, table: PostTable) { (self.catalog, self.table) = (catalog, table) }

  /// Writes the posts to the file at `path`, which gets its name once it is complete. Returns their number.
  /// - Parameter onWritten: called before the file gets its name.
  package func write(to path: String, onWritten: () -> Void = {}) async throws -> Int {
    let output = try WholeFile(at: path)
    let count = try await write { try output.write($0) }
    onWritten()
    try Task.checkCancellation()
    try output.finish(durably: true)
    return count
  }

  package func write(_ put: (String) throws -> Void) async throws -> Int {
    try put(table.header)
    var count = 0
    var pages = PostPages(catalog: catalog)
    while let posts = try await pages.next() {
      try Task.checkCancellation()
      count += posts.count
      try put(try table.text(posts))
    }
    return count
  }
}

/// All posts by page number, one page at a time: those that existed when the first page was read.
package struct PostPages {
  private static let size = 500

  private let catalog: any PostCatalog
  private var from = 1
  private var last: Int?

  package init(catalog: any PostCatalog) {
    self.catalog = catalog
  }

  /// Returns the next page; nil at the end. Page numbers may have gaps, so a page may be empty.
  package mutating func next() async throws -> [Post]? {
    if last == nil {
      last = try await catalog.newestPosts(before: nil, limit: 1).posts.first?.pageNumber ?? 0
    }
    guard let last, from <= last else { return nil }
    defer { from += Self.size }
    return try await catalog.posts(from: from, count: min(Self.size, last - from + 1))
  }
}
