import FoundationEssentials
import ReelCore

/// What the owners of one ``MemoryCatalog`` share.
struct MemoryLibrary {
  enum State { case unfinished, published, givenUp }

  struct Row {
    let intent: PostID
    let key: ObjectKey
    let publication: Publication
    var attempt = 1
    var state = State.unfinished
    var owner: Int?
    var posters: [PosterRequest] = []
    /// What the files were that were mended to this.
    var arrived: Set<ContentDigest> = []
  }

  struct StoredName: Hashable {
    let destination: Destination
    let key: ObjectKey
  }

  struct Inode: Hashable {
    let device: UInt64
    let inode: UInt64
  }

  struct ProbeResultKey: Hashable {
    let digest: ContentDigest
    let reader: ReaderVersion
  }

  /// Named in messages where the path of a file would be.
  static let path = "in memory"

  var alive: Set<Int> = []
  var closed: Set<Int> = []
  var rows: [Row] = []
  /// Where in `rows` a publication's intents are, and an intent's one.
  private var ofPublication: [Publication: [Int]] = [:]
  private var ofIntent: [PostID: Int] = [:]
  private var names: Set<StoredName> = []
  /// In the order of their places, from 1.
  var posts: [Post] = []
  private var places: [PostID: Int] = [:]
  /// Posts whose event has not been told, and who is to tell it.
  var untold: [PostID: Int] = [:]
  var stores: [Destination: (posts: Int, bytes: Int64)] = [:]
  var files: [Inode: (identity: FileIdentity, digest: ContentDigest)] = [:]
  var readings: [ProbeResultKey: ProbeOutcome] = [:]
  var failures: [SourcePath: FailureRecord] = [:]
  private var owners = 0

  // MARK: Owners

  mutating func register() -> Int {
    owners += 1
    alive.insert(owners)
    return owners
  }

  mutating func retire(_ owner: Int) {
    for index in rows.indices where rows[index].owner == owner { rows[index].owner = nil }
    alive.remove(owner)
    closed.insert(owner)
  }

  // MARK: Intents

  mutating func claim(_ request: ClaimRequest, by owner: Int) throws(CatalogError) -> Claim {
    // It may hand an event over: not within the decision, which reads.
    let published = request.duplicates == .skip ? published(request, by: owner) : nil
    let decision = ClaimDecision<PublishedPost, Int>.decide(
      request.duplicates,
      published: published,
      own: (ofPublication[request.publication] ?? []).filter { rows[$0].state == .unfinished },
      related: related(to: request),
      holding: { IntentHolding(owner: rows[$0].owner, claimant: owner, isAlive: alive.contains) },
      posterNameIsTaken: request.poster.map {
        names.contains(StoredName(request.publication, $0.newKey))
      } ?? false,
      nameIsTaken: ofIntent[request.newID] != nil
        || names.contains(StoredName(request.publication, request.newKey)))
    switch decision {
    case .published(let post): return .published(post)
    case .held: return .held
    case .nameTaken: throw CatalogError.nameTaken(request, at: Self.path)
    case .begin: return .granted(begin(request, by: owner))
    case .takeOver(let index):
      rows[index].owner = owner
      rows[index].attempt += 1
      if let arrived = request.arrived { rows[index].arrived.insert(arrived) }
      return .granted(intent(of: index, with: request.poster))
    }
  }

  /// Unfinished intents for what becomes of the same file when it is mended, or for that file as it is.
  private func related(to request: ClaimRequest) -> [Int] {
    let publication = request.publication
    let digests = Set([publication.digest, request.arrived].compactMap(\.self))
    return rows.indices.filter { index in
      let row = rows[index]
      return row.state == .unfinished && row.publication != publication
        && row.publication.destination == publication.destination
        && row.publication.authorID == publication.authorID
        && (row.publication.digest == request.arrived || !row.arrived.isDisjoint(with: digests))
    }
  }

  /// The poster's name is that of an earlier attempt of the same bytes, else a new one.
  private mutating func intent(of index: Int, with poster: PosterRequest?) -> Intent {
    let row = rows[index]
    let key = poster.map { poster in
      row.posters.first { $0.digest == poster.digest }?.newKey ?? poster.newKey
    }
    if let poster, key == poster.newKey {
      rows[index].posters.append(poster)
      names.insert(StoredName(row.publication, poster.newKey))
    }
    return Intent(
      id: row.intent, key: row.key, publication: row.publication, attempt: row.attempt, poster: key)
  }

  private mutating func begin(_ request: ClaimRequest, by owner: Int) -> Intent {
    let row = Row(
      intent: request.newID, key: request.newKey, publication: request.publication, owner: owner,
      arrived: Set([request.arrived].compactMap(\.self)))
    ofPublication[request.publication, default: []].append(rows.count)
    ofIntent[request.newID] = rows.count
    names.insert(StoredName(request.publication, request.newKey))
    rows.append(row)
    return intent(of: rows.count - 1, with: request.poster)
  }

  private func held(_ intent: Intent, by owner: Int) -> Int? {
    guard let index = ofIntent[intent.id] else { return nil }
    let row = rows[index]
    let isHeld = row.attempt == intent.attempt && row.owner == owner && row.state == .unfinished
    return isHeld ? index : nil
  }

  /// Marks the intent published, if this attempt still holds it, and the poster that its post is to show is named. Gives
  /// the post's place.
  /// - Throws: `leaseLost` when it does not.
  mutating func finish(
    _ intent: Intent, showing poster: ObjectKey?, by owner: Int
  ) throws(CatalogError) -> Int {
    guard let index = held(intent, by: owner),
      poster == nil || rows[index].posters.contains(where: { $0.newKey == poster })
    else { throw CatalogError.leaseLost(intent, at: Self.path) }
    rows[index].state = .published
    rows[index].owner = nil
    return posts.count + 1
  }

  mutating func release(_ intent: Intent, because reason: ReleaseReason, by owner: Int) {
    guard let index = held(intent, by: owner) else { return }
    rows[index].owner = nil
    switch reason {
    case .retryLater: break
    case .keyUnusable: rows[index].state = .givenUp
    case .posterUnusable: rows[index].posters.removeAll { $0.newKey == intent.poster }
    }
  }

  func isGivenUp(_ intent: Intent) -> Bool {
    ofIntent[intent.id].map { rows[$0].state == .givenUp } ?? false
  }

  // MARK: Posts

  mutating func append(_ post: Post, of publication: Publication, bytes: Int64, by owner: Int) {
    places[post.id] = posts.count
    posts.append(post)
    untold[post.id] = owner
    let store = stores[publication.destination] ?? (posts: 0, bytes: 0)
    stores[publication.destination] = (posts: store.posts + 1, bytes: store.bytes + bytes)
  }

  mutating func add(_ post: Post, to destination: Destination) {
    guard places[post.id] == nil else { return }
    var post = post
    post.pageNumber = posts.count + 1
    if let digest = post.digest {
      let publication = Publication(digest: digest, destination: destination, authorID: post.authorID)
      names.insert(StoredName(publication, post.video))
      ofPublication[publication, default: []].append(rows.count)
      ofIntent[post.id] = rows.count
      rows.append(Row(intent: post.id, key: post.video, publication: publication, state: .published))
    }
    places[post.id] = posts.count
    posts.append(post)
    let store = stores[destination] ?? (posts: 0, bytes: 0)
    stores[destination] = (posts: store.posts + 1, bytes: store.bytes + (post.size ?? 0))
  }

  /// By what is stored, or by what came in.
  func posts(of digest: ContentDigest) -> [Post] {
    posts.filter { post in
      post.digest == digest || ofIntent[post.id].map { rows[$0].arrived.contains(digest) } == true
    }
  }

  func post(_ id: PostID) -> Post? {
    places[id].map { posts[$0] }
  }

  func recall(_ file: RecalledFile, by owner: Int) -> CachedRecord? {
    guard let digest = knownFile(file.identity) else { return nil }
    let publication = Publication(digest: digest, destination: file.destination, authorID: file.authorID)
    let found = look(for: publication, by: owner)
    let isPublished = found?.announced == true
    return CachedRecord(
      digest: digest, isPublished: isPublished, post: isPublished ? found?.post : nil,
      failureCode: failures[file.path]?.code)
  }

  /// By what would be stored, or by what came in.
  private mutating func published(_ request: ClaimRequest, by owner: Int) -> PublishedPost? {
    let publication = request.publication
    if let found = published(publication, by: owner) {
      if let arrived = request.arrived, let index = ofIntent[found.post.id] {
        rows[index].arrived.insert(arrived)
      }
      return found
    }
    return request.arrived.flatMap { arrived in
      published(
        Publication(digest: arrived, destination: publication.destination, authorID: publication.authorID),
        by: owner)
    }
  }

  mutating func published(_ publication: Publication, by owner: Int) -> PublishedPost? {
    let found = look(for: publication, by: owner)
    if let found, !found.announced { untold[found.post.id] = owner }
    return found
  }

  private func look(for publication: Publication, by owner: Int) -> PublishedPost? {
    let index =
      ofPublication[publication]?.first { rows[$0].state == .published }
      ?? rows.firstIndex { row in
        row.state == .published && row.arrived.contains(publication.digest)
          && row.publication.destination == publication.destination
          && row.publication.authorID == publication.authorID
      }
    guard let index, let post = post(rows[index].intent) else { return nil }
    guard let teller = untold[post.id], teller != owner, !alive.contains(teller) else {
      return PublishedPost(post: post, announced: true)
    }
    return PublishedPost(post: post, announced: false)
  }
}

extension MemoryLibrary {
  func status() -> CatalogStatus {
    let newest = failures.sorted { left, right in
      left.value.at == right.value.at ? left.key < right.key : left.value.at > right.value.at
    }
    return CatalogStatus(
      posts: posts.count, bytes: stores.values.reduce(0) { $0 + $1.bytes },
      destinations: stores.sorted { $0.key.name < $1.key.name }
        .map { (destination: $0.key, posts: $0.value.posts) },
      unfinished: rows.filter { $0.state == .unfinished }.count,
      failures: newest.prefix(CatalogStatus.mostFailures).map { (path: $0.key, failure: $0.value) },
      failureCount: failures.count, schemaVersion: CatalogSchema.version)
  }

  func knownFile(_ identity: FileIdentity) -> ContentDigest? {
    guard let known = files[Inode(identity)], known.identity == identity else { return nil }
    return known.digest
  }

  func readings(of digest: ContentDigest) -> [ReaderVersion: ProbeOutcome] {
    let found = readings.filter { $0.key.digest == digest }
    return Dictionary(found.map { ($0.key.reader, $0.value) }) { first, _ in first }
  }

  mutating func remember(_ digest: ContentDigest, of identity: FileIdentity) {
    files[Inode(identity)] = (identity: identity, digest: digest)
  }

  mutating func remember(_ failure: FailureRecord?, at path: SourcePath) {
    failures[path] = failure.map { failure in
      FailureRecord(
        code: failure.code, message: failure.message, refused: failure.refused,
        at: failure.at.wholeMilliseconds)
    }
  }

  /// The bytes are a guess at what the values take.
  var cacheStatus: CacheStatus {
    CacheStatus(
      files: files.count, readings: readings.count, bytes: Int64(files.count * 80 + readings.count * 1000))
  }

  mutating func clearCache() -> CacheStatus {
    defer {
      files = [:]
      readings = [:]
    }
    return cacheStatus
  }
}

extension MemoryLibrary.StoredName {
  init(_ publication: Publication, _ key: ObjectKey) {
    self.init(destination: publication.destination, key: key)
  }
}

extension MemoryLibrary.Inode {
  init(_ identity: FileIdentity) {
    self.init(device: identity.device, inode: identity.inode)
  }
}
