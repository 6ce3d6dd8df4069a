import FoundationEssentials

/// What `reel doctor` asks of a catalog. Nothing here writes.
public protocol CatalogExamination: Sendable {
  /// The faults that the database engine and the catalog's own rules find in the database, one sentence each; empty
  /// if it is sound.
  func damage() async throws(CatalogError) -> [String]

  /// Every process that is recorded as working on the library, and every lock file left behind by one.
  func owners() async throws(CatalogError) -> [ExaminedOwner]

  /// Every store that is named in a row.
  func destinations() async throws(CatalogError) -> [Destination]

  /// Up to `limit` objects that rows name in `destination`, ordered by key, starting after `key`.
  func objects(
    in destination: Destination, after key: ObjectKey?, limit: Int
  ) async throws(CatalogError) -> [ExaminedObject]
}

/// What `reel doctor --fix` asks of a catalog.
public protocol CatalogRepair: Sendable {
  /// Deletes the rows of dead owners, and releases what they held.
  func releaseWhatTheDeadHold() async throws(CatalogError)

  /// Gives an unfinished intent up for good, in one transaction, unless a live process holds it: from then on no
  /// process can publish under its name, whatever it was about to do. The row keeps naming the object.
  /// - Returns: False if the intent is published, or held by a live process; true also if it was given up before.
  func giveUp(_ id: PostID) async throws(CatalogError) -> Bool

  /// Gives a poster up for good: no post will show it. False if a post shows it, or may yet.
  func giveUpPoster(_ key: ObjectKey, in destination: Destination) async throws(CatalogError) -> Bool
}

/// What `reel relocate` asks of a catalog.
package protocol StoreRelocating: Sendable {
  /// Records, in one transaction, that the store `old` is at `new` from now on, with everything that is known about
  /// it. URLs of objects in a folder change accordingly; those built from `--public-base-url` stay.
  ///
  /// - Parameters:
  ///   - objects: How many videos and posters of posts of `old` were found at `new`.
  ///   - duplicates: How to treat videos that are posts in both: `skip` refuses, `allow` keeps both posts of each.
  /// - Throws: ``CatalogError``: `locked` while a process is storing in either of them, `unusable` if it cannot be
  ///   done. Nothing has changed then.
  func relocate(
    _ old: Destination, to new: Destination, holding objects: Int, duplicates: DuplicateHandling
  ) async throws(CatalogError)
}

/// A process that works, or worked, on a library.
public struct ExaminedOwner: Hashable, Sendable {
  /// The status of the process.
  public enum Life: Hashable, Sendable {
    /// It works on the library.
    case alive
    /// The kernel reports it gone, or its lease has expired on another machine.
    case dead
    /// It exists but has not renewed its lease: it is suspended or hangs.
    case overdue
  }
  /// The name of its lock.
  public let name: String
  /// Nil for a lock without a row.
  public let pid: Int?
  /// Nil for a lock without a row.
  public let leaseUntil: Date?
  /// The status of the process.
  public let life: Life

  /// Creates an owner as it was found.
  public init(name: String, pid: Int?, leaseUntil: Date?, life: Life) {
    self.name = name
    self.pid = pid
    self.leaseUntil = leaseUntil
    self.life = life
  }
}

/// An object that a row names.
public struct ExaminedObject: Hashable, Sendable {
  /// The state of an object, according to its row.
  public enum State: Hashable, Sendable {
    /// Its post is in the feed.
    case published
    /// Not published yet; a live process holds it.
    case held
    /// Not published; the process that held it is dead.
    case abandoned
    /// Not published; the next run resumes it.
    case waiting
    /// Given up: nothing will ever be published under this key.
    case givenUp
    /// A poster that its post does not show, such as one that an attempt before the last one made.
    case unneeded
    /// Its post was removed, and the object is kept for a while.
    case kept
    /// Its post is being removed, restored or moved. Until that ends, the object may or may not be in the store.
    case changing
    /// Its post was removed, and the object with it.
    case removed
  }
  /// The role of the object in its post.
  public enum Kind: String, Hashable, Sendable, Codable {
    /// The video that the post plays, or the picture that represents it.
    case video, poster
  }
  /// The role of the object in its post. For a poster, ``State/held`` means that the post is not published yet, or
  /// that a live process is adding the poster to it.
  public let kind: Kind
  /// The post to which it belongs, or was to belong.
  public let id: PostID
  /// Its name in the store.
  public let key: ObjectKey
  /// The size in bytes.
  public let size: Int64
  /// The digest of its bytes.
  public let digest: ContentDigest
  /// Its state, according to its row.
  public let state: State
  /// When its row last changed.
  public let changedAt: Date

  /// Creates an object from the values of its row.
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

/// What `reel doctor` asks of a store that can be listed. Only ``removeLeftovers()`` changes anything.
public protocol StoreExamination: Sendable {
  /// Every name in the store outside Reel's own folder for temporary files, in no particular order.
  /// - Throws: `storeUnusable` if the store is not there.
  func names() async throws(UploadError) -> [String]

  /// Paths of what uploaders that died left unfinished.
  func leftovers() async throws(UploadError) -> [String]

  /// Removes what ``leftovers()`` lists.
  func removeLeftovers() async throws(UploadError)
}

/// A store, other than a folder, whose objects can be downloaded.
package protocol ReadableStore: Uploader {
  /// Writes the bytes of the object under `key`, at most `size`, to the empty `file`, and returns their digest; nil
  /// if there is no object of that length.
  /// - Throws: Also what ``StagedFile`` reports of a failed write.
  func download(
    _ key: ObjectKey, size: Int64, into file: any StagedFile
  ) async throws(UploadError) -> ContentDigest?
}

/// A store that can replace a damaged object in a single step.
package protocol DamagedObjectReplacing: Uploader {
  /// Replaces the object under `key` with `source`, if the object is proved to differ: by its length, or by the
  /// digest of its bytes as they are read now. A process that dies meanwhile leaves either the old object or the
  /// new one, and a process that comes late stores the right bytes once more.
  ///
  /// Returns false, and changes nothing, if the object already matches `source`.
  /// - Throws: As `upload`; `conflict` if there is no object, or it cannot be read.
  func replaceDamaged(_ key: ObjectKey, with source: UploadSource) async throws(UploadError) -> Bool
}

extension DamagedObjectReplacing {
  /// Whether the object under `key` is proved to differ from `source`.
  /// - Throws: `conflict` if there is none.
  package func isDamaged(_ key: ObjectKey, _ source: UploadSource) async throws(UploadError) -> Bool {
    guard let found = try await find(key) else {
      throw UploadError(.conflict, "\(key) is no longer in the store \(destination): try again")
    }
    if found.size != source.size { return true }
    return try await readFound(key) != source.digest
  }
}
