import FoundationEssentials
import HTTPTypes
import ReelCore
import ReelCrypto

/// The requests of Cloud Storage's JSON API, each as one call
/// (https://cloud.google.com/storage/docs/performing-resumable-uploads, …/docs/json_api/v1/objects).
struct StorageClient: Sendable {
  let bucket: StorageBucket
  let google: GoogleClient

  /// The number of bytes of which the size of every part but the last is a multiple
  /// (https://cloud.google.com/storage/docs/performing-resumable-uploads#chunked-upload).
  static let granule = 256 << 10

  /// The smallest role that allows all of it, for error messages.
  static let role = "Storage Object User (roles/storage.objectUser)"

  /// The state of an upload at the store.
  enum UploadStatus: Hashable, Sendable {
    /// The store does not know the upload, or no longer does: uploads expire after a week.
    case gone
    /// This many bytes are stored permanently.
    case partial(Int64)
    case whole(StorageObject)
  }

  // MARK: Uploads

  /// Begins an upload. The store checks the condition now, or at the end.
  /// - Parameter generation: the generation of the object to be replaced; nil if none may exist.
  func begin(
    _ object: NewStorageObject, _ key: ObjectKey, size: Int64, replacing generation: String?
  ) async throws(UploadError) -> StorageSession {
    let target =
      bucket.uploads
      + "?uploadType=resumable&ifGenerationMatch=\(PercentEncoding.all(generation ?? "0"))&name="
      + PercentEncoding.all(object.name)
    var call = try google.call(.post, target, json: object)
    call.fields[.uploadContentType] = object.contentType
    call.fields[.uploadContentLength] = "\(size)"
    let reply = try await google.send(call)
    guard reply.isSuccess else { throw refusal(reply, "begin an upload of \(key)", key) }
    guard let location = reply.fields[.location],
      let session = StorageSession(location: location, at: bucket.origin, crc32c: object.crc32c)
    else {
      throw UploadError(
        .storeUnusable,
        "the store \(google.store) began an upload and gave no address for it at \(bucket.origin), the only "
          + "place where Reel sends anything")
    }
    return session
  }

  /// Returns how far an upload has come.
  /// - Parameter size: the size of the whole object; nil if unknown. If all bytes are there, stating the size completes
  ///   the upload.
  func standing(
    of session: StorageSession, size: Int64?, _ key: ObjectKey
  ) async throws(UploadError) -> UploadStatus {
    var call = google.call(.put, session.target)
    call.fields[.contentRange] = "bytes */" + (size.map { "\($0)" } ?? "*")
    return try await standing(call, "say how far the upload of \(key) has come", key)
  }

  /// Sends `bytes`, which begin at `offset`. If they include the object's last byte, the object then exists.
  func append(
    _ bytes: [UInt8], at offset: Int64, of size: Int64, to session: StorageSession, _ key: ObjectKey
  ) async throws(UploadError) -> UploadStatus {
    var call = google.call(.put, session.target)
    call.fields[.contentRange] =
      bytes.isEmpty ? "bytes */\(size)" : "bytes \(offset)-\(offset + Int64(bytes.count) - 1)/\(size)"
    call.body = .bytes(bytes)
    return try await standing(call, "take a part of \(key)", key)
  }

  /// Cancels an unfinished upload and frees what it holds.
  func cancel(_ session: StorageSession, _ key: ObjectKey) async throws(UploadError) {
    let reply = try await google.send(google.call(.delete, session.target))
    // With 499, Cloud Storage confirms that it is done.
    guard reply.isDone || [404, 410, 499].contains(reply.status.code) else {
      throw refusal(reply, "give up the upload of \(key)", key)
    }
  }

  private func standing(
    _ call: HTTPCall, _ task: String, _ key: ObjectKey
  ) async throws(UploadError) -> UploadStatus {
    let reply = try await google.send(call)
    switch reply.status.code {
    case 200, 201:
      return .whole(try google.decoded(StorageObject.self, reply, "store \(key)"))
    case 308: return .partial(try acknowledged(reply, key))
    // With 499, Cloud Storage says that we cancelled it ourselves.
    case 404, 410, 499: return .gone
    default: throw refusal(reply, task, key)
    }
  }

  /// Returns the number of bytes that the store has. "bytes=0-41" means 42 bytes; without the field there are none.
  /// "bytes=0-0" means none, too: parts are multiples of 256 KiB, so an unfinished session never holds just one byte,
  /// and gcp-storage-emulator sends this for an empty one.
  private func acknowledged(_ reply: HTTPReply, _ key: ObjectKey) throws(UploadError) -> Int64 {
    guard let range = reply.fields[.range] else { return 0 }
    let ends = range.drop { $0 != "=" }.dropFirst().split(separator: "-", maxSplits: 1)
    guard ends.count == 2, ends[0] == "0", let last = Int64(digits: ends[1]), last < .max else {
      throw UploadError(
        .interrupted,
        "the store \(google.store) does not tell how far the upload of \(key) has come: try again")
    }
    return last == 0 ? 0 : last + 1
  }

  // MARK: Objects

  /// Returns what the store reports about an object; nil if there is none.
  func object(_ key: ObjectKey) async throws(UploadError) -> StorageObject? {
    let reply = try await google.send(google.call(.get, bucket.target(of: key)))
    if reply.status.code == 404 { return nil }
    guard reply.isSuccess else { throw refusal(reply, "find \(key)", key) }
    return try google.decoded(StorageObject.self, reply, "find \(key)")
  }

  /// Removes an object, and reports what the bucket keeps of it.
  /// - Parameter generation: the generation to which the removal is restricted; nil for any.
  func remove(_ key: ObjectKey, generation: String? = nil) async throws(UploadError) -> ObjectRemoval {
    let condition = generation.map { "?ifGenerationMatch=" + PercentEncoding.all($0) } ?? ""
    let reply = try await google.send(google.call(.delete, bucket.target(of: key) + condition))
    if reply.status.code == 404 {
      // The bucket may be gone, or the 404 may be a proxy's, which says nothing about the object.
      _ = try await page(nil, limit: 1)
      guard try await object(key) == nil else {
        throw UploadError(
          .unavailable,
          "the store \(google.store) says that it has no \(key), and then that it has: try again later")
      }
    } else if !reply.isDone {
      throw retention(reply, key) ?? refusal(reply, "remove \(key)", key)
    }
    let versions = try await kept(key, "softDeleted=true") + kept(key, "versions=true")
    guard !versions.isEmpty else { return .gone }
    let named = versions.prefix(3).map { version in
      "the generation \(version.id)"
        + (version.keptUntil.map { " until \(ISOTime.second($0)) (soft deletion)" } ?? "")
    }
    let more = versions.count - named.count
    return ObjectRemoval(
      remains: "\(key) is removed, but \(google.store) keeps " + named.joined(separator: ", ")
        + (more > 0 ? " and \(more) more" : "")
        + ": what is deleted softly goes by itself at that time, any other by a lifecycle rule or by its number",
      versions: versions)
  }

  /// Returns the error for a retention policy or a hold
  /// (https://cloud.google.com/storage/docs/bucket-lock, …/docs/object-holds).
  private func retention(_ reply: HTTPReply, _ key: ObjectKey) -> UploadError? {
    let said = GoogleFailure(reply)
    guard reply.status.code == 403,
      !Set(said.reasons).isDisjoint(with: ["retentionPolicyNotMet", "objectUnderActiveHold"])
    else { return nil }
    return UploadError(
      .rejected,
      "the store \(google.store) did not remove \(key), which stays, and viewers who have its address see it: "
        + (said.message.map { HTTPReply.oneLine($0) } ?? "the bucket's retention policy or a hold keeps it"))
  }

  /// Returns what the bucket keeps under exactly that name without showing it to readers; nothing if it does not say.
  /// - Parameter which: a parameter of the list (https://cloud.google.com/storage/docs/json_api/v1/objects/list).
  private func kept(_ key: ObjectKey, _ which: String) async throws(UploadError) -> [KeptVersion] {
    let name = bucket.objectName(of: key)
    let target = bucket.objects + "?maxResults=100&\(which)&prefix=" + PercentEncoding.all(name)
    let reply = try await google.send(google.call(.get, target))
    guard reply.isSuccess else {
      let error = refusal(reply, "list what it keeps of \(key)", key)
      if error.isWorthARetry { throw error }
      return []
    }
    let page = try google.decoded(StorageObjectPage.self, reply, "list what it keeps of \(key)")
    return (page.items ?? []).filter { $0.name == name && ($0.timeDeleted ?? $0.softDeleteTime) != nil }
      .compactMap { item in
        item.generation.map {
          KeptVersion(id: HTTPReply.oneLine($0), keptUntil: item.hardDeleteTime.flatMap { ISOTime.date($0) })
        }
      }
  }

  /// Reads an object and returns its digest; nil if there is none.
  func read(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? {
    guard let object = try await object(key) else { return nil }
    var call = google.call(.get, bucket.target(of: key) + "?alt=media")
    call.patience += .seconds((object.length ?? 0) / (16 << 10))
    call.fetchLimit = object.length.flatMap(Int.init(exactly:)) ?? .max
    let (reply, content) = try await google.fetch(call, into: (hash: SHA256(), count: Int64(0))) {
      $0.hash.update(bufferPointer: $1)
      $0.count += Int64($1.count)
    }
    if reply.status.code == 404 { return nil }
    guard reply.isSuccess else { throw refusal(reply, "give \(key) back", key) }
    if let length = object.length, length != content.count {
      throw UploadError(
        .interrupted,
        "the store \(google.store) sent \(content.count) of the \(length) bytes of \(key): try again")
    }
    return ContentDigest(sha256: content.hash.finalize())
  }

  /// Returns a page of the names below the prefix, without those in its folders.
  /// - Parameter token: nil for the first page.
  func page(_ token: String?, limit: Int = 1000) async throws(UploadError) -> StorageObjectPage {
    let prefix = bucket.prefix.isEmpty ? "" : bucket.prefix + "/"
    var target = bucket.objects + "?maxResults=\(limit)&delimiter=%2F&prefix=" + PercentEncoding.all(prefix)
    if let token { target += "&pageToken=" + PercentEncoding.all(token) }
    var call = google.call(.get, target)
    // Each object is listed with everything known about it, a kilobyte or so.
    call.replyLimit = 8 << 20
    let reply = try await google.send(call)
    if reply.status.code == 404 {
      throw UploadError(
        .storeUnusable,
        "there is no bucket named \(bucket.name) at \(bucket.origin): make it, or correct the destination")
    }
    guard reply.isSuccess else {
      throw google.failure(reply, "list the objects", permission: Self.role)
    }
    return try google.decoded(StorageObjectPage.self, reply, "list the objects")
  }

  private func refusal(_ reply: HTTPReply, _ task: String, _ key: ObjectKey) -> UploadError {
    switch reply.status.code {
    case 404: UploadError(.storeUnusable, "there is no bucket named \(bucket.name) at \(bucket.origin)")
    case 412: UploadError(.alreadyExists, "the store \(google.store) has an object named \(key) already")
    default: google.failure(reply, task, permission: Self.role)
    }
  }
}

extension HTTPField.Name {
  static let uploadContentType = ours("X-Upload-Content-Type")
  static let uploadContentLength = ours("X-Upload-Content-Length")
}
