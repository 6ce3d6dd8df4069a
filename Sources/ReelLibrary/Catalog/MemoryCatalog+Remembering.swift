import ReelCore

extension MemoryCatalog {
  /// What is known of each of these.
  /// The posts cost nothing here, and are given in any case.
  public func recall(
    _ files: [RecalledFile], readingPosts: Bool
  ) throws(CatalogError) -> [CachedRecord?] {
    try open { library in files.map { library.recall($0, by: me) } }
  }

  /// Remembers these. A file's state is remembered when it has been left alone for 2 s.
  public func note(_ notes: [CatalogNote]) async { try? open { write(notes, into: &$0) } }

  func write(_ notes: [CatalogNote], into library: inout MemoryLibrary) {
    for note in notes {
      switch note {
      case .digest(let digest, let identity):
        if identity.isSettled(at: clock.now()) { library.remember(digest, of: identity) }
      case .outcome(let outcome, let digest, let reader):
        guard outcome.isWorthRemembering else { continue }
        library.readings[MemoryLibrary.ProbeResultKey(digest: digest, reader: reader)] = outcome
      case .failure(let failure, let path): library.remember(failure, at: path)
      case .announced(let posts):
        for post in posts where library.untold[post] == me { library.untold[post] = nil }
      }
    }
  }

  /// Each as ``content(of:publishedAs:)``.
  public func contents(of questions: [ContentQuestion]) throws(CatalogError) -> [KnownContent] {
    try open { library in
      questions.map { question in
        KnownContent(
          post: question.publication.flatMap { library.published($0, by: me) },
          readings: library.readings(of: question.digest))
      }
    }
  }

  /// Each as ``claim(_:)``.
  public func claim(
    _ requests: [ClaimRequest], noting notes: [CatalogNote]
  ) throws(CatalogError) -> [Result<Claim, CatalogError>] {
    try open { library in
      write(notes, into: &library)
      return requests.map { request in
        Result { () throws(CatalogError) in try library.claim(request, by: me) }
      }
    }
  }

  /// Each as ``complete(_:draft:stored:)``.
  public func complete(
    _ completions: [Completion], noting notes: [CatalogNote]
  ) throws(CatalogError) -> [Result<Post, CatalogError>] {
    try open { library in
      write(notes, into: &library)
      return completions.map { one in
        Result { () throws(CatalogError) in try complete(one, in: &library) }
      }
    }
  }

  /// How much is remembered.
  public func cacheStatus() async throws(CatalogError) -> CacheStatus {
    try look { $0.cacheStatus }
  }

  /// Forgets digests and readings.
  public func clearCache() async throws(CatalogError) -> CacheStatus {
    try look { $0.clearCache() }
  }

  /// What was read, one after the other.
  public func probeOutcomes(
    of digests: [ContentDigest], by reader: ReaderVersion
  ) throws(CatalogError) -> [ProbeOutcome?] {
    try open { library in
      digests.map { library.readings[MemoryLibrary.ProbeResultKey(digest: $0, reader: reader)] }
    }
  }
}
