import FoundationEssentials
import ReelModel

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
  }

  struct Inode: Hashable {
    let device: UInt64
    let inode: UInt64
  }

  struct Reading: Hashable {
    let digest: ContentDigest
    let reader: ReaderVersion
  }

  /// Named in messages where the path of a file would be.
  static let path = "in memory"

  var alive: Set<Int> = []
  var closed: Set<Int> = []
  var rows: [Row] = []
  var posts: [Post] = []
  /// Posts whose event has not been told, and who is to tell it.
  var untold: [PostID: Int] = [:]
  var stores: [Destination: (posts: Int, bytes: Int64)] = [:]
  var files: [Inode: (identity: FileIdentity, digest: ContentDigest)] = [:]
  var readings: [Reading: ProbeOutcome] = [:]
  var failures: [SourcePath: FailureRecord] = [:]
  private var owners = 0

  // MARK: Owners

  mutating func enlist() -> Int {
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
    if request.duplicates == .skip, let post = published(request.publication, by: owner) {
      return .published(post)
    }
    let unfinished = rows.indices.filter { index in
      rows[index].publication == request.publication && rows[index].state == .unfinished
    }
    let free = unfinished.filter { index in
      guard let holder = rows[index].owner else { return true }
      return holder != owner && !alive.contains(holder)
    }
    if request.duplicates == .skip, free.count < unfinished.count { return .held }
    guard let index = free.first else { return .granted(try begin(request, by: owner)) }
    rows[index].owner = owner
    rows[index].attempt += 1
    return .granted(rows[index].asIntent)
  }

  private mutating func begin(_ request: ClaimRequest, by owner: Int) throws(CatalogError) -> Intent {
    let destination = request.publication.destination
    let isTaken = rows.contains { row in
      row.intent == request.newID
        || row.key == request.newKey && row.publication.destination == destination
    }
    if isTaken { throw CatalogError.nameTaken(request, at: Self.path) }
    let row = Row(
      intent: request.newID, key: request.newKey, publication: request.publication, owner: owner)
    rows.append(row)
    return row.asIntent
  }

  private func held(_ intent: Intent, by owner: Int) -> Int? {
    rows.firstIndex { row in
      row.intent == intent.id && row.attempt == intent.attempt && row.owner == owner
        && row.state == .unfinished
    }
  }

  /// Marks the intent published, if this attempt still holds it. Gives the post's place.
  /// - Throws: `leaseLost` when it does not.
  mutating func finish(_ intent: Intent, by owner: Int) throws(CatalogError) -> Int {
    guard let index = held(intent, by: owner) else { throw CatalogError.leaseLost(intent, at: Self.path) }
    rows[index].state = .published
    rows[index].owner = nil
    return posts.count + 1
  }

  mutating func release(_ intent: Intent, because reason: ReleaseReason, by owner: Int) {
    guard let index = held(intent, by: owner) else { return }
    rows[index].owner = nil
    if case .keyUnusable = reason { rows[index].state = .givenUp }
  }

  // MARK: Posts

  mutating func append(_ post: Post, of publication: Publication, bytes: Int64, by owner: Int) {
    posts.append(post)
    untold[post.id] = owner
    let store = stores[publication.destination] ?? (posts: 0, bytes: 0)
    stores[publication.destination] = (posts: store.posts + 1, bytes: store.bytes + bytes)
  }

  mutating func published(_ publication: Publication, by owner: Int) -> PublishedPost? {
    let row = rows.first { $0.publication == publication && $0.state == .published }
    guard let row, let post = posts.first(where: { $0.id == row.intent }) else { return nil }
    guard let teller = untold[post.id], teller != owner, !alive.contains(teller) else {
      return PublishedPost(post: post, announced: true)
    }
    untold[post.id] = owner
    return PublishedPost(post: post, announced: false)
  }
}

extension MemoryLibrary.Row {
  var asIntent: Intent { Intent(id: intent, key: key, publication: publication, attempt: attempt) }
}
