import FoundationEssentials

/// What `reel doctor` asks a catalog. Nothing here writes.
public protocol CatalogExamination: Sendable {
  /// What SQLite and the catalog's own rules find wrong with the database, a sentence each; none when it is sound.
  func damage() async throws(CatalogError) -> [String]

  /// Every process that is written down as working on the library, and every lock that one has left.
  func owners() async throws(CatalogError) -> [ExaminedOwner]

  /// Every store that a row names.
  func destinations() async throws(CatalogError) -> [Destination]

  /// Up to `limit` objects that rows name in `destination`, by key, those behind `key`.
  func objects(
    in destination: Destination, after key: ObjectKey?, limit: Int
  ) async throws(CatalogError) -> [ExaminedObject]
}

/// What `reel doctor --fix` asks a catalog.
public protocol CatalogRepair: Sendable {
  /// Strikes out dead owners, and takes from them what they held.
  func releaseWhatTheDeadHold() async throws(CatalogError)

  /// Gives an unfinished intent up for good, in one transaction, unless somebody alive holds it: from then on nobody
  /// publishes under its name, whatever they were about to do. Its row goes on naming the object. False when it is
  /// published, or somebody alive is at it; true when it was given up before.
  func giveUp(_ id: PostID) async throws(CatalogError) -> Bool

  /// Gives a poster up for good: no post shows it from now on. False when one does, or may yet.
  func giveUpPoster(_ key: ObjectKey, in destination: Destination) async throws(CatalogError) -> Bool
}

/// What `reel relocate` asks a catalog.
package protocol StoreRelocating: Sendable {
  /// Writes down, in one transaction, that the store `old` is at `new` from now on, with everything that is known of
  /// it. URLs of objects in a folder change with it; those that `--public-base-url` made stay.
  ///
  /// - Parameters:
  ///   - objects: how many videos and posters of posts of `old` were found at `new`.
  ///   - duplicates: what becomes of videos that are posts in both: `skip` refuses, `allow` keeps both posts of each.
  /// - Throws: ``CatalogError``: `locked` while somebody is storing in one of them, `unusable` when it can't be done;
  ///   nothing has changed then.
  func relocate(
    _ old: Destination, to new: Destination, holding objects: Int, duplicates: DuplicateHandling
  ) async throws(CatalogError)
}

/// A process that works, or worked, on a library.
public struct ExaminedOwner: Hashable, Sendable {
  /// How it stands.
  public enum Life: Hashable, Sendable {
    /// It works on the library.
    case alive
    /// The kernel says that it is gone, or its lease ran out on another machine.
    case dead
    /// It is there, and has not renewed its lease: stopped, or hanging.
    case overdue
  }
  /// The name of its lock.
  public let name: String
  /// Nil for a lock without a row.
  public let pid: Int?
  /// Nil for a lock without a row.
  public let leaseUntil: Date?
  /// How it stands.
  public let life: Life

  /// An owner as it was found.
  public init(name: String, pid: Int?, leaseUntil: Date?, life: Life) {
    self.name = name
    self.pid = pid
    self.leaseUntil = leaseUntil
    self.life = life
  }
}

/// An object that a row names.
public struct ExaminedObject: Hashable, Sendable {
  /// What its row says of it.
  public enum State: Hashable, Sendable {
    /// Its post is in the feed.
    case published
    /// Not published yet; somebody alive is at it.
    case held
    /// Not published; whoever was at it is dead.
    case abandoned
    /// Not published; the next run goes on with it.
    case waiting
    /// Given up: never published under this key.
    case givenUp
    /// A poster that its post does not show: an attempt that was not the last one made it.
    case unneeded
    /// Its post was removed, and it is kept for a while.
    case kept
    /// Its post is being removed, restored or moved: it may be in the store, or not, until that has ended.
    case changing
    /// Its post was removed, and so was it.
    case removed
  }
  /// What it is to its post.
  public enum Kind: String, Hashable, Sendable, Codable {
    /// What the post plays, or the picture that stands for it.
    case video, poster
  }
  /// What it is to its post. Of a poster, ``State/held`` says that the post is not published yet.
  public let kind: Kind
  /// The post whose it is, or was to be.
  public let id: PostID
  /// Its name in the store.
  public let key: ObjectKey
  /// Bytes.
  public let size: Int64
  /// Of its bytes.
  public let digest: ContentDigest
  /// What its row says of it.
  public let state: State
  /// When its row changed last.
  public let changedAt: Date

  /// An object by its row.
  public init(
    kind: Kind = .video, id: PostID, key: ObjectKey, size: Int64, digest: ContentDigest, state: State,
    changedAt: Date
  ) {
    self.kind = kind
    self.id = id
    self.key = key
    self.size = size
    self.digest = digest
    self.state = state
    self.changedAt = changedAt
  }
}

/// What `reel doctor` asks a store that can be listed. Only ``removeLeftovers()`` changes anything.
public protocol StoreExamination: Sendable {
  /// Every name in the store but our own folder of temporaries, in no order.
  /// - Throws: `storeUnusable` when the store is not there.
  func names() async throws(UploadError) -> [String]

  /// Paths of what dead uploaders have left half done.
  func leftovers() async throws(UploadError) -> [String]

  /// Removes what ``leftovers()`` tells.
  func removeLeftovers() async throws(UploadError)
}

/// A store, not a folder, that gives the bytes of its objects back.
package protocol ReadableStore: Uploader {
  /// Writes the bytes of the object under `key`, no more than `size`, into `file`, which is empty, and gives their digest;
  /// nil when there is no object of that length.
  /// - Throws: also what ``StagedFile`` says of a write that failed.
  func download(
    _ key: ObjectKey, size: Int64, into file: any StagedFile
  ) async throws(UploadError) -> ContentDigest?
}

/// A store that can put an object in the place of a damaged one in a single step.
package protocol DamagedObjectReplacing: Uploader {
  /// Puts `source` in the place of the object under `key`, if that is proved to be something else: by its length, or by
  /// the digest of its bytes as they are read now. Whoever dies meanwhile leaves the one or the other, and whoever comes late
  /// stores the right bytes once more.
  ///
  /// Gives false, and changes nothing, when the object is what `source` is.
  /// - Throws: as `upload`; `conflict` when there is no object, or something that can't be read.
  func replaceDamaged(_ key: ObjectKey, with source: UploadSource) async throws(UploadError) -> Bool
}

extension DamagedObjectReplacing {
  /// Whether the object under `key` is proved to be something else than `source`.
  /// - Throws: `conflict` when there is none.
  package func isDamaged(_ key: ObjectKey, _ source: UploadSource) async throws(UploadError) -> Bool {
    guard let found = try await find(key) else {
      throw UploadError(.conflict, "\(key) is not in the store \(destination) any more: try again")
    }
    if found.size != source.size { return true }
    return try await readFound(key) != source.digest
  }
}
