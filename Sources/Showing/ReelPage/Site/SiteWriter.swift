import FoundationEssentials
import ReelCore

/// Writes a feed as plain files (docs/page.md).
///
/// Files that would not change stay untouched. `feed/index.json` records what earlier runs wrote. It is written last,
/// so that the next run needs to read only new posts from the catalog.
package struct SiteWriter: Sendable {
  let folder: SiteFolder
  let catalog: any PostCatalog
  private let options: SiteOptions
  private let queue: BlockingQueue
  private let width: Int

  static let usualSize = 24
  /// Exists while existing pages are being rewritten. A run that finds it rewrites all of them, because the first page
  /// alone does not show how far the killed run came.
  private static let rewriting = "feed/.rewriting"
  /// From this many pages on, one sync at the end is cheaper than one for each.
  private static let manyPages = 16
  /// The number of pages that a task writes before it takes more.
  private static let chunk = 8

  /// Locks the folder, creating it if necessary.
  /// - Parameter width: the number of pages made at once.
  package init(
    at path: CanonicalPath, from catalog: any PostCatalog, options: SiteOptions, width: Int
  ) throws(SiteError) {
    folder = try SiteFolder(path)
    self.catalog = catalog
    self.options = options
    self.width = max(1, width)
    queue = BlockingQueue(label: "reel.page", width: max(1, width))
  }

  /// Writes what has changed.
  package func run() async throws(SiteError) -> SiteSummary {
    let old = try readIndex()
    var index = old ?? SiteIndex(title: "Reel", size: Self.usualSize, media: .inPlace)
    // A damaged index may have had any revision. Choose one by which no cache can take the new pages for old ones.
    let isDamaged = old == nil && folder.holds("feed/index.json")
    if isDamaged { index.revision = Int(Date().timeIntervalSince1970) }
    if let title = options.title { index.title = title }
    if let size = options.size { index.size = size }
    if let media = options.media { index.media = media }
    index.names = options.names ?? index.names ?? false
    // From here on the folder counts as a site, whatever happens.
    if old == nil {
      _ = try folder.write(try data(index, for: "index").json, to: "feed/index.json", isDurable: false)
    }
    // Read the revision first, so that the next run notices any change from here on.
    index.feedRevision = try await asking { () throws(CatalogError) in try await catalog.feedRevision() }
    let newest = try await asking { () throws(CatalogError) in
      try await catalog.newestPosts(before: nil, limit: 1).posts.first
    }
    index.count = newest?.pageNumber ?? 0
    guard (0...SiteIndex.mostPosts).contains(index.count) else {
      throw SiteError(
        .catalog,
        "the newest post in the catalog has the page number \(index.count), which can't be: `reel doctor` says what else is damaged"
      )
    }
    index.newest = newest?.id
    index.pages = index.page(of: index.count)
    if index.media != .inPlace { try folder.makeFolder(MediaPlaces.name) }

    let newPage = try await firstNewPage(index, after: old)
    let wasKilled = folder.holds(Self.rewriting)
    if newPage == nil, isDamaged || old.map({ $0.count > 0 }) ?? false {
      _ = try folder.write([], to: Self.rewriting, isDurable: true)
      try folder.syncNames()
    }
    let first = newPage ?? 1
    let isResized = old.map { $0.size != index.size } ?? false
    var outcome = try await writePages(first, index, after: old)
    // Pages that are no longer written are removed at the end.
    if first == 1, let old, old.pages > index.pages {
      let superfluous = index.pages + 1...old.pages
      outcome.removed += try await queue.run { () throws(SiteError) in
        var count = 0
        for page in superfluous {
          count += try takeOut(page, keeping: [], for: nil, isResized: isResized, after: old)
        }
        return count
      }
    }
    index.update(outcome.gaps, from: index.firstNumber(on: first))
    // Pages that were not examined miss no video: otherwise all pages would have been.
    index.missing = outcome.missing
    index.origins = MediaOrigin.sources(outcome.origins.union(first == 1 ? [] : old?.origins ?? []))
    // To this run, what a killed run changed looks unchanged.
    let hasFewer = old.map { $0.pages > index.pages } ?? false
    if wasKilled || hasFewer || outcome.replaced > 0 { index.revision += 1 }
    var summary = SiteSummary(site: folder.path.text)
    summary.posts = index.posts
    summary.removed = outcome.removed
    summary.added = max(0, index.posts - (old?.posts ?? 0) + outcome.removed)
    summary.missing = outcome.missing
    summary.isLocal = index.origins.contains("file:")
    summary.written = outcome.written + (try writeRest(index, isComplete: first == 1))
    folder.removeTemporaries()
    return summary
  }

  // MARK: The present state

  func readIndex() throws(SiteError) -> SiteIndex? {
    guard let bytes = try folder.read("feed/index.json") else { return nil }
    // An index of another version or a damaged one: everything is rewritten.
    guard let index = try? JSONDecoder().decode(SiteIndex.self, from: Data(bytes)), index.isPlausible else {
      return nil
    }
    return index
  }

  private func asking<Answer: Sendable>(
    _ question: () async throws(CatalogError) -> Answer
  ) async throws(SiteError) -> Answer {
    try await rethrowing(as: SiteError.init, question)
  }

  private func posts(from pageNumber: Int, count: Int) async throws(SiteError) -> [Post] {
    try await asking { () throws(CatalogError) in try await catalog.posts(from: pageNumber, count: count) }
  }

  /// The first page with new posts; nil if all pages must be examined.
  private func firstNewPage(_ index: SiteIndex, after old: SiteIndex?) async throws(SiteError) -> Int? {
    guard let old, old.count > 0, !options.all else { return nil }
    guard old.count <= index.count,
      try await posts(from: old.count, count: 1).first?.id == old.newest
    else {
      if let newest = old.newest, try await wasRemoved(newest, from: old.count) { return nil }
      throw SiteError(
        .otherLibrary,
        "\(folder.path.text) shows posts that this library doesn't have: name its library with --library, or let --all "
          + "make it the site of this one")
    }
    guard old.size == index.size, old.media == index.media, (old.names ?? false) == index.names,
      old.missing == 0, !folder.holds(Self.rewriting),
      old.feedRevision == index.feedRevision
    else { return nil }
    // If the library was moved, the addresses of its own videos have changed.
    let hasChanged = try await firstPage(holding: old.count, index) != folder.read("feed/1.json")
    return hasChanged ? nil : old.count / old.size + 1
  }

  /// Whether the post had that page number until it was removed.
  private func wasRemoved(_ post: PostID, from pageNumber: Int) async throws(SiteError) -> Bool {
    try await queue.run { () throws(SiteError) in
      try removedPost(post)?.post.pageNumber == pageNumber
    }
  }

  /// The contents that the first page had when there were `count` posts.
  private func firstPage(holding count: Int, _ index: SiteIndex) async throws(SiteError) -> [UInt8] {
    let posts = try await posts(from: 1, count: min(index.size, count))
    return try encoded(1, posts, MediaPlaces(folder, index)).json
  }

  // MARK: Pages

  private struct Outcome: Sendable {
    var origins: Set<String> = []
    var written = 0
    var missing = 0
    /// The number of page files that changed in other ways than by new posts. A cache may have them under the same
    /// address, which only depends on the number of posts.
    var replaced = 0
    /// The number of posts that the site showed before and no longer shows.
    var removed = 0
    /// The page numbers that no post has.
    var gaps: [ClosedRange<Int>] = []

    mutating func add(_ other: Outcome) {
      removed += other.removed
      gaps += other.gaps
      origins.formUnion(other.origins)
      written += other.written
      missing += other.missing
      replaced += other.replaced
    }
  }

  private func writePages(
    _ first: Int, _ index: SiteIndex, after old: SiteIndex?
  ) async throws(SiteError) -> Outcome {
    guard first <= index.pages else { return Outcome() }
    let isDurable = index.pages - first < Self.manyPages
    let starts = stride(from: first, through: index.pages, by: Self.chunk)
    return try await rethrowing(
      as: { $0 as? SiteError ?? SiteError(.unusable, "\(folder.path.text) can't be written: \($0)") }
    ) {
      try await withThrowingTaskGroup(of: Outcome.self) { group in
        var starts = starts.makeIterator()
        var outcome = Outcome()
        func begin() {
          guard let start = starts.next() else { return }
          let pages = start..<min(start + Self.chunk, index.pages + 1)
          group.addTask { try await write(pages, index, after: old, isDurable: isDurable) }
        }
        for _ in 0..<width { begin() }
        while let part = try await group.next() {
          outcome.add(part)
          begin()
        }
        // Media are not written durably either.
        if !isDurable || index.media != .inPlace { try folder.sync() }
        return outcome
      }
    }
  }

  private func write(
    _ pages: Range<Int>, _ index: SiteIndex, after old: SiteIndex?, isDurable: Bool
  ) async throws(SiteError) -> Outcome {
    let first = index.firstNumber(on: pages.lowerBound)
    let numbers = first..<min(first + pages.count * index.size, index.count + 1)
    let posts = try await posts(from: first, count: numbers.count)
    let places = MediaPlaces(folder, index)
    let isResized = old.map { $0.size != index.size } ?? false
    return try await queue.run { () throws(SiteError) in
      var outcome = Outcome()
      outcome.gaps = SiteIndex.gaps(in: numbers, beside: posts.compactMap(\.pageNumber))
      var rest = posts[...]
      for page in pages {
        let own = rest.prefix { index.page(of: $0.pageNumber ?? 0) == page }
        rest = rest.dropFirst(own.count)
        let data = try encoded(page, Array(own), places)
        if let old, page <= old.pages {
          outcome.removed += try takeOut(
            page, keeping: Set(own.map(\.id)), for: data.json, isResized: isResized, after: old)
        }
        outcome.origins.formUnion(data.origins)
        outcome.missing += data.missing
        let hasGrown = old.map { $0.posts(on: page) < min($0.size, index.posts(on: page)) } ?? true
        for (bytes, name) in [(data.json, "feed/\(page).json"), (data.script, "feed/\(page).js")] {
          let change = try folder.write(bytes, to: name, isDurable: isDurable)
          if change != .none { outcome.written += 1 }
          if change == .changed, !hasGrown { outcome.replaced += 1 }
        }
      }
      return outcome
    }
  }

  private struct EncodedPage {
    let json: [UInt8]
    let script: [UInt8]
    let origins: Set<String>
    let missing: Int
  }

  private func encoded(_ page: Int, _ posts: [Post], _ places: MediaPlaces) throws(SiteError) -> EncodedPage {
    var (shown, origins, missing): ([Post], Set<String>, Int) = ([], [], 0)
    for post in posts {
      let placed = try places.place(post)
      if placed.isMissing { missing += 1 }
      let urls = [placed.post.videoURL, placed.post.posterURL].compactMap(\.self)
      origins.formUnion(urls.compactMap(MediaOrigin.source(of:)))
      shown.append(placed.post)
    }
    let data = try data(PageDocument(page: page, posts: shown), for: "page")
    return EncodedPage(json: data.json, script: data.script, origins: origins, missing: missing)
  }

  private func data(
    _ value: some Encodable, for function: String
  ) throws(SiteError) -> (json: [UInt8], script: [UInt8]) {
    try rethrowing(as: { SiteError(.unusable, "the feed can't be written as JSON: \($0)") }) {
      try PageFiles.data(value, for: function)
    }
  }

  // MARK: The other files

  /// Writes everything but the pages. `feed/index.json` comes last, because it states what is there.
  /// - Parameter isComplete: whether all pages were examined, so that any others can be removed.
  private func writeRest(_ index: SiteIndex, isComplete: Bool) throws(SiteError) -> Int {
    let files = [
      ("index.html", PageFiles.page(title: index.title, origins: index.origins)),
      ("style.css", PageFiles.style), ("script.js", PageFiles.script), ("icon.svg", PageFiles.icon),
    ]
    var written = 0
    for (name, bytes) in files where try folder.write(bytes, to: name, isDurable: true) != .none {
      written += 1
    }
    // After a power failure, there must be no index without its pages.
    try folder.syncNames()
    let data = try data(index, for: "index")
    if try folder.write(data.script, to: "feed/index.js", isDurable: true) != .none { written += 1 }
    // After the page's script knows that they are gone, and before the next run trusts the index.
    if isComplete { try removePages(after: index.pages) }
    if try folder.write(data.json, to: "feed/index.json", isDurable: true) != .none { written += 1 }
    if folder.holds(Self.rewriting) {
      try folder.syncNames()
      folder.remove(Self.rewriting)
    }
    return written
  }

  /// Removes the pages after `last` that earlier runs wrote.
  private func removePages(after last: Int) throws(SiteError) {
    for name in try folder.names(in: "feed") {
      let parts = name.split(separator: ".", omittingEmptySubsequences: false)
      guard parts.count == 2, parts[1] == "json" || parts[1] == "js", let page = Int(parts[0]), page > last
      else { continue }
      folder.remove("feed/" + name)
    }
  }
}
