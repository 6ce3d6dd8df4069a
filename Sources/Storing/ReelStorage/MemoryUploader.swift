import ReelCore
import ReelCrypto
import Synchronization

/// A store in memory, for tests and examples. It keeps every promise except durability.
///
/// All users of one `MemoryUploader` see the same objects.
public final class MemoryUploader: Uploader {
  /// Atomic and proved by hashing, but not durable.
  public let traits = UploadTraits(
    atomicCreate: true, resumable: false, verifiesChecksums: true, durable: false)
  /// `memory:` and the name that it was given.
  public let destination: Destination

  private struct Stored {
    let bytes: [UInt8]
    let digest: ContentDigest
  }
  private let objects = Mutex<[ObjectKey: Stored]>([:])

  /// - Parameter name: the store's name; two uploaders of the same name are *not* one store.
  public init(name: String = "store") {
    destination = Destination("memory:" + name)
  }

  /// The names of all objects, sorted.
  public var keys: [ObjectKey] {
    objects.withLock { $0.keys.sorted { $0.rawValue < $1.rawValue } }
  }

  /// Returns the bytes under `key`, or nil if there is no such object.
  public func bytes(of key: ObjectKey) -> [UInt8]? {
    objects.withLock { $0[key]?.bytes }
  }

  /// Does nothing.
  public func prepare() async throws(UploadError) {}

  /// Reads all of `source`, hashes it and keeps it.
  /// - Throws: `alreadyExists`, `sourceChanged`, `sourceUnreadable`, `cancelled`.
  public func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    try checkFree(key)
    let bytes = try await read(source, reporting)
    let isNew = objects.withLock { objects in
      if objects[key] != nil { return false }
      objects[key] = Stored(bytes: bytes, digest: source.digest)
      return true
    }
    guard isNew else { throw taken(key) }
    return StoredObject(key: key, url: url(of: key), size: source.size, digest: source.digest)
  }

  /// Returns the object with its digest.
  public func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? {
    objects.withLock { $0[key] }.map { stored in
      StoredObject(key: key, url: url(of: key), size: Int64(stored.bytes.count), digest: stored.digest)
    }
  }

  /// Removes the object.
  @discardableResult
  public func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval {
    objects.withLock { $0[key] = nil }
    return .gone
  }

  /// Hashes the bytes again.
  public func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? {
    bytes(of: key).flatMap { ContentDigest(sha256: SHA256.hash(data: $0)) }
  }

  private func read(
    _ source: UploadSource, _ reporting: @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> [UInt8] {
    var bytes: [UInt8] = []
    reporting(TransferProgress(sent: 0, total: source.size))
    for try await chunk in SourceChunks(of: source) {
      bytes += chunk
      reporting(TransferProgress(sent: Int64(bytes.count), total: source.size))
    }
    return bytes
  }

  private func url(of key: ObjectKey) -> String { destination.name + "/" + key.rawValue }

  private func checkFree(_ key: ObjectKey) throws(UploadError) {
    if objects.withLock({ $0[key] != nil }) { throw taken(key) }
  }

  private func taken(_ key: ObjectKey) -> UploadError {
    UploadError(.alreadyExists, "the store \(destination) has an object named \(key) already")
  }
}

/// Posts recorded in memory, for tests and examples.
///
/// All users of one `MemoryRecorder` see the same posts.
public final class MemoryRecorder: PostRecorder {
  /// The destination that it was given.
  public let destination: Destination

  private struct State {
    var posts: [PostID: Post] = [:]
    var last = 0
  }
  private let state = Mutex(State())

  /// - Parameter destination: the store to which the posts belong.
  public init(of destination: Destination) { self.destination = destination }

  /// The recorded posts, by their place.
  public var posts: [Post] {
    state.withLock { $0.posts.values.sorted { ($0.pageNumber ?? 0) < ($1.pageNumber ?? 0) } }
  }

  /// Does nothing.
  public func prepare() async throws(UploadError) {}

  /// Keeps the post under the next number. If it is recorded already, only its poster changes.
  public func record(_ post: Post) async throws(UploadError) -> RecordedPost {
    try keep(post) { recorded in
      guard recorded.video == post.video else { return false }
      recorded.showPoster(of: post)
      return true
    }
  }

  /// Replaces the recorded post, which keeps its number, or keeps the post under the next number.
  @discardableResult
  public func update(_ post: Post, from earlier: Post?) async throws(UploadError) -> RecordedPost {
    try keep(post) { recorded in
      guard [post.video, earlier?.video].contains(recorded.video) else { return false }
      let number = recorded.pageNumber
      recorded = post
      recorded.pageNumber = number
      return true
    }
  }

  /// - Parameter change: changes the post that is recorded under that id; false if it is a different one.
  private func keep(_ post: Post, _ change: (inout Post) -> Bool) throws(UploadError) -> RecordedPost {
    let number = state.withLock { state -> Int? in
      if var recorded = state.posts[post.id] {
        guard change(&recorded) else { return nil }
        state.posts[post.id] = recorded
        return recorded.pageNumber
      }
      state.last += 1
      var recorded = post
      recorded.pageNumber = state.last
      state.posts[post.id] = recorded
      return state.last
    }
    guard let number else {
      throw UploadError(.rejected, "the store \(destination) has another post under the id \(post.id)")
    }
    return RecordedPost(id: post.id, pageNumber: number)
  }

  /// Returns the objects of the recorded post.
  public func find(_ id: PostID) async throws(UploadError) -> PostRecord? {
    state.withLock { $0.posts[id] }.map { PostRecord(video: $0.video, poster: $0.poster) }
  }

  /// Removes the post.
  public func withdraw(_ id: PostID) async throws(UploadError) {
    state.withLock { $0.posts[id] = nil }
  }
}
