import Glibc
import HTTPTypes
import ReelCore
import ReelCrypto
import ReelStorage

/// What a store reports about an object without its bytes.
struct S3Head: Sendable, Hashable {
  /// The size in bytes; nil if the store does not state it.
  private(set) var size: Int64?
  /// The ETag without its quotation marks; nil if the store does not state it.
  private(set) var etag: String?
  /// `x-amz-checksum-sha256`, whatever it covers: the whole object, or the digests of its parts.
  let sha256: String?
  /// `x-amz-checksum-crc64nvme`; nil if it does not cover the whole object.
  let crc64: String?
  /// `x-amz-checksum-type`.
  let checksumType: String?

  init(_ reply: HTTPReply) {
    size = reply.contentLength
    etag = reply.fields[.eTag]?.trimmingQuotes()
    sha256 = reply.fields[.checksumSHA256]
    checksumType = reply.fields[.checksumType]
    crc64 = (checksumType ?? "FULL_OBJECT") == "FULL_OBJECT" ? reply.fields[.checksumCRC64] : nil
  }

  /// Returns this with what `reply` adds, the reply to a request for the object's first byte. Nil if it is not about
  /// an object.
  func completed(by reply: HTTPReply) -> S3Head? {
    var head = self
    head.etag = reply.fields[.eTag]?.trimmingQuotes() ?? etag
    if let range = reply.fields[.contentRange] {
      // In a partial reply, Content-Length is the length of that part only.
      head.size = ContentRange(parsing: range)?.size
    } else {
      // A login page has a length, too, but no ETag, and it is never sent as a part.
      head.size = head.etag == nil || reply.status == .partialContent ? nil : reply.contentLength
    }
    return head.size == nil ? nil : head
  }

  /// Whether this says anything about the bytes, or lacks even an ETag. If so, and it is not what was expected, only
  /// reading the bytes can settle what they are.
  var tellsBytes: Bool { sha256 != nil || crc64 != nil || etag?.isMD5 ?? true }

  /// Whether the store's report on an object that was put in one request proves that it is `source`: by its digest, or
  /// by its ETag if that is the MD5, for which the source is read.
  /// - Throws: `cancelled`.
  func isProved(_ source: UploadSource) async throws(UploadError) -> Bool {
    if tells(source.digest) { return true }
    return try await hasTag(of: SourceTag(whole: source))
  }

  /// Whether the ETag is that of a source, which is read for it. If it can't be proved, the object may still be intact.
  /// - Throws: `cancelled`.
  func hasTag(of source: SourceTag) async throws(UploadError) -> Bool {
    guard let etag else { return false }
    do throws(UploadError) {
      return try await source.matches(etag)
    } catch {
      if error.code == .cancelled { throw error }
      return false
    }
  }

  /// The SHA-256 of the object's bytes, if the checksum certainly covers those. That of an object in parts may cover
  /// the parts' digests, and some stores leave out the number of parts that would say so.
  var digest: ContentDigest? {
    guard checksumType.map({ $0 == "FULL_OBJECT" }) ?? !(etag?.contains("-") ?? false) else { return nil }
    return sha256.flatMap { Base64.bytes($0) }.flatMap { ContentDigest(sha256: $0) }
  }

  /// Whether the checksum is that of the whole object.
  func tells(_ digest: ContentDigest) -> Bool { sha256 == Base64.text(digest.bytes) }

  /// Whether the checksum is the composite one of `parts`, with or without their number appended (AWS, "Checking object
  /// integrity"). It proves the bytes only as far as the store has checked the parts: it was told their digests.
  func tells(_ parts: [SentPart]) -> Bool {
    guard let sha256 else { return false }
    let digests = parts.compactMap(\.sha256)
    guard digests.count == parts.count else { return false }
    let composite = Base64.text(SHA256.hash(data: digests.joined()))
    return [composite, "\(composite)-\(parts.count)"].contains(sha256)
  }

  /// Whether the ETag is that of an object put together from exactly these parts: the MD5 of the MD5s that are their
  /// ETags, and their number. It proves the bytes only as far as the store has checked the parts.
  func isOf(_ parts: [SentPart]) -> Bool {
    let tags = parts.map { Hexadecimal.bytes($0.etag.trimmingQuotes()) }
    guard let etag, tags.allSatisfy({ $0?.count == 16 }) else { return false }
    return etag == Hexadecimal.text(Insecure.MD5.hash(data: tags.compactMap(\.self).joined()))
      + "-\(parts.count)"
  }
}

extension S3Client {
  /// Returns the store's report on the object; nil if there is none. If HEAD states another length than is known, or 0
  /// (localstack, MinIO and others once stated that for any object), GET has to confirm it.
  /// - Parameter size: its length in bytes, if known: `rclone serve s3` hashes that many before it answers.
  func head(_ key: ObjectKey, size: Int64 = 0) async throws(UploadError) -> S3Head? {
    try await head(named: key.rawValue, size: size)
  }

  /// As ``head(_:size:)``, but for any object.
  /// - Parameter name: as in ``S3Request/name``.
  func head(named name: String, size: Int64 = 0) async throws(UploadError) -> S3Head? {
    var request = Self.look(for: name)
    request.fields = [.checksumMode: "ENABLED"]
    // Time for a slow or busy disk.
    request.thinking = .seconds(size / (16 << 20))
    switch try await outcome(of: request) {
    case .reply(let reply):
      let head = S3Head(reply)
      if head.etag != nil, let told = head.size, size > 0 ? told == size : told > 0 { return head }
      return try await completed(head, name, size)
    case .failure(let failure):
      if failure.isMissing { return nil }
      throw error(failure, request)
    }
  }

  private static func look(for name: String) -> S3Request {
    S3Request(.head, name: name, task: "look for \(name)", permission: "s3:GetObject and s3:ListBucket")
  }

  /// Completes a reply to HEAD that lacks the length or the ETag with the reply to GET, of which only the head is read.
  private func completed(
    _ head: S3Head, _ name: String, _ size: Int64
  ) async throws(UploadError) -> S3Head? {
    var request = S3Request(.get, name: name, task: "look at \(name)", permission: "s3:GetObject")
    request.fields = [.range: "bytes=0-0"]
    request.answer = .object
    request.endsAtHead = true
    request.thinking = .seconds(size / (16 << 20))
    switch try await outcome(of: request) {
    case .reply(let reply):
      guard let head = head.completed(by: reply) else {
        throw UploadError(
          .interrupted,
          "the server of \(store.destination) gives no information about \(name): try again")
      }
      return head
    case .failure(let failure):
      // An empty object has no first byte.
      if failure.reply.status.code == 416 {
        if head.size == 0, head.etag != nil { return head }
        if let head = head.completed(by: failure.reply), head.size == 0 { return head }
      }
      if try await isMissing(failure, name) { return nil }
      throw error(failure, request)
    }
  }

  /// Whether `failure` says that `name` is not in the bucket. If the reply may not be the store's own, the store has to
  /// confirm it, in reply to HEAD and by its list.
  /// - Throws: the store's error if the store itself can't be reached.
  func isMissing(_ failure: S3Failure, _ name: String) async throws(UploadError) -> Bool {
    if failure.isMissing { return true }
    guard failure.mayBeMissing else { return false }
    // Not ``head(named:size:)``, which might repeat by GET the request that was just refused.
    let request = Self.look(for: name)
    switch try await outcome(of: request) {
    case .reply: return false
    case .failure(let failure): guard failure.isMissing else { throw error(failure, request) }
    }
    let whole = store.prefix + name
    return !(try await page(of: whole, most: 1, from: nil)).objects.contains { $0.name == whole }
  }

  /// Whether `failure` says that the store does not support the request. If the reply may not be the store's own, the
  /// bucket has to answer another request: a proxy without a store behind it can't answer either.
  /// - Throws: the store's error if the store itself can't be reached.
  func isOfTheQuestion(_ failure: S3Failure) async throws(UploadError) -> Bool {
    guard failure.isOfTheQuestion else { return false }
    guard failure.mayBeMissing || failure.reply.status.code == 500 else { return true }
    do throws(UploadError) {
      _ = try await page(of: store.prefix, most: 1, from: nil)
    } catch {
      // These, too, are answers of the store itself.
      guard error.code == .denied || error.code == .rejected else { throw error }
    }
    return true
  }

  /// Checks that the store holds `source` under `key`. Only what it holds counts, whatever it said when it was stored.
  /// - Parameter isProved: whether the store's report on the object proves that. If not, an object of the right length
  ///   is read back.
  /// - Throws: `interrupted` if there is no object, `verificationFailed` if it is proved to be something else.
  func proveStored(
    _ key: ObjectKey, _ source: UploadSource, _ isProved: (S3Head) async throws(UploadError) -> Bool
  ) async throws(UploadError) {
    guard let head = try await head(key, size: source.size), let size = head.size else {
      throw UploadError(
        .interrupted,
        "\(store.destination) accepted \(key), but does not show it: try again, and check its address if it happens "
          + "again"
      ).ofWhole(.notShown)
    }
    if size == source.size {
      if try await isProved(head) { return }
      guard let read = try await readBack(key, size: size) else {
        throw UploadError(.interrupted, "\(key) is no longer in \(store.destination): try again")
      }
      if read == source.digest { return }
    }
    throw await damaged(key, source)
  }

  /// Reads back the object's `size` bytes and returns their digest; nil if there is no object.
  /// - Parameter file: where to write the bytes; nil to discard them.
  func readBack(
    _ key: ObjectKey, size: Int64, into file: (any StagedFile)? = nil
  ) async throws(UploadError) -> ContentDigest? {
    try await readBack(named: key.rawValue, size: size, into: file)
  }

  /// As ``readBack(_:size:into:)``, but for any object.
  /// - Parameter name: as in ``S3Request/name``.
  func readBack(
    named name: String, size: Int64, into file: (any StagedFile)? = nil
  ) async throws(UploadError) -> ContentDigest? {
    var request = S3Request(.get, name: name, task: "read \(name)", permission: "s3:GetObject")
    request.answer = .object
    request.fetchLimit = Int(clamping: size)
    request.patience += .seconds(size / (16 << 10))
    let (outcome, read) = try await fetch(request, into: ReadObject(file, size)) { read, piece in
      read.add(piece)
    }
    switch outcome {
    case .reply:
      if let file, let failure = read.failure { throw file.failure(failure.code, "write a copy of \(name)") }
      guard read.count == size else {
        throw UploadError(
          .interrupted,
          "\(store.destination) gave \(read.count) of the \(size) bytes of \(name): try again"
        )
      }
      return ContentDigest(sha256: read.hash.finalize())
    case .failure(let failure):
      if try await isMissing(failure, name) { return nil }
      throw error(failure, request)
    }
  }
}

/// The bytes of an object received so far.
private struct ReadObject: Sendable {
  let file: (any StagedFile)?
  /// The expected number of bytes. Bytes that a store sends beyond them are not written.
  let size: Int64
  var hash = SHA256()
  var count: Int64 = 0
  /// The reason why not all of them could be written to the file.
  var failure: SystemError?

  init(_ file: (any StagedFile)?, _ size: Int64) { (self.file, self.size) = (file, size) }

  mutating func add(_ piece: UnsafeRawBufferPointer) {
    hash.update(bufferPointer: piece)
    do throws(SystemError) {
      if let file, failure == nil, count + Int64(piece.count) <= size {
        try writeFully(file.descriptor, piece, at: count)
      }
    } catch {
      failure = error
    }
    count += Int64(piece.count)
  }
}

extension S3Client {
  /// The maximum size of a page of a list in bytes: a thousand names of up to 1024 bytes, some escaped, and what is
  /// listed about each.
  static let listLimit = 8 << 20

  /// Returns a page of the objects whose names begin with `beginning`, in the store's order.
  /// - Parameter most: the number of objects wanted. A page never has more than a thousand.
  func page(
    of beginning: String, most: Int = .max, from position: S3ListPosition?
  ) async throws(UploadError) -> S3ListPage {
    var request = S3Request(
      .get, nil,
      // A name may contain characters that XML can't.
      query: [("list-type", "2"), ("prefix", beginning), ("encoding-type", "url")], task: "list the objects",
      permission: "s3:ListBucket")
    if most < 1000 { request.query.append(("max-keys", "\(most)")) }
    request.query += position?.query ?? []
    request.replyLimit = Self.listLimit
    request.answer = .lateWord
    let body = try await send(request).body
    guard let page = S3Documents.page(body) else {
      throw UploadError(
        .interrupted,
        S3Documents.isPage(body)
          ? "\(store.destination) lists an object without its name or its size: ask its operator"
          : "\(store.destination) did not list its objects: try again, and check its address if it happens again"
      )
    }
    // A store that does not continue after a name would return the same page forever.
    let isStuck: Bool
    switch position {
    case .after(let name): isStuck = page.objects.contains { $0.name == name }
    case .token: isStuck = page.next == position
    case nil: isStuck = false
    }
    guard !isStuck, page.isWhole || page.next != nil else {
      throw UploadError(
        .rejected,
        "\(store.destination) "
          + (isStuck
            ? "keeps sending the same page of its list of objects"
            : "does not say how its list of objects continues")
          + ": it must support ListObjectsV2, or continue after a name (start-after)")
    }
    return page
  }

  /// The number of attempts to list unfinished uploads, all answered with 500, after which the store counts as unable
  /// to (localstack). A single 500 may have any cause; and an upload can do without the list.
  static let mostFailedLists = 3

  /// Returns the unfinished uploads of exactly `key`, the newest first. Nil if they can't be listed: the access key may
  /// not, the store does not support the request, or its answer is not XML. Then nothing will ever find what an
  /// interrupted upload leaves behind.
  func openUploads(of key: ObjectKey) async throws(UploadError) -> [String]? {
    let name = store.prefix + key.rawValue
    var found: [S3Documents.ListedUpload] = []
    // Some stores list all uploads, whatever the prefix.
    var markers: [[String]] = []
    // So there may be foreign names among them, which may contain what XML can't.
    var encoding = [("encoding-type", "url")]
    var unreadable = 0
    var next: [(String, String)]? = []
    while let position = next {
      var request = S3Request(
        .get, nil, query: [("uploads", ""), ("prefix", name)] + encoding + position,
        task: "list the unfinished uploads", permission: "s3:ListBucketMultipartUploads")
      request.replyLimit = Self.listLimit
      switch try await outcome(of: request) {
      case .reply(let reply):
        goesOn(name)
        failsToList = false
        // Some stores take this for another request, and answer that. A body that is not XML is no answer at all.
        guard XMLNode(parsing: reply.body) != nil else {
          unreadable += 1
          guard S3Documents.isWholeListOfUploads(reply.body) else {
            throw UploadError(
              .interrupted,
              "\(store.destination) did not list its unfinished uploads: try again")
          }
          // It may have been damaged on its way. If each one is unreadable, it is what the store sends.
          if unreadable < Self.mostUnreadable { continue }
          return nil
        }
        guard let page = S3Documents.uploads(of: name, in: reply.body) else { return nil }
        found += page.uploads.filter { !found.contains($0) }
        next = page.next
        if let values = next?.map(\.1) {
          if markers.contains(values) || markers.count >= Self.mostUploadPages { next = nil }
          markers.append(values)
        }
      case .failure(let failure):
        // `rclone serve s3` says this of a bucket in which no upload was ever begun.
        if failure.isMissingUpload { return [] }
        let error = error(failure, request)
        if error.code == .denied { return nil }
        if failure.reply.status.code == 500, !failsToList {
          guard isInVain(name, for: Self.mostFailedLists) else { throw error }
          failsToList = true
        }
        guard try await isOfTheQuestion(failure) else { throw error }
        // The store may support the request, but not the encoding of names.
        if encoding.isEmpty || ![400, 501].contains(failure.reply.status.code) { return nil }
        encoding = []
      }
    }
    return found.sorted { $0.begun > $1.begun }.map(\.id)
  }

  /// The maximum number of pages, of a thousand uploads each.
  private static let mostUploadPages = 100
  /// The maximum number of unreadable answers.
  private static let mostUnreadable = 3

  /// Removes the parts of an unfinished upload. One that does not exist counts as removed.
  func abortUpload(_ id: String, of key: ObjectKey) async throws(UploadError) {
    let request = S3Request(
      .delete, key, query: [("uploadId", id)], task: "give up the upload of \(key)",
      permission: "s3:AbortMultipartUpload")
    try await done(request) { failure async throws(UploadError) in
      if failure.isMissing || failure.isMissingUpload { return true }
      // If the reply may not be the store's own, the list has to confirm it.
      guard failure.mayBeMissing, let open = try await self.openUploads(of: key) else { return false }
      return !open.contains(id)
    }
  }

  /// Removes an object that was just created and, as the store itself says, is not what was sent, and returns the error
  /// to throw.
  func damaged(_ key: ObjectKey, _ source: UploadSource) async -> UploadError {
    let error = UploadError(
      .verificationFailed,
      "\(store.destination) says that it holds something other than what was sent as \(key)")
    return await source.disowning(key, error) { () async throws(UploadError) in
      try await self.remove(key)
    }
  }

  /// Removes the object and returns the store's reply; nil if there was no object.
  /// - Parameter name: as in ``S3Request/name``.
  @discardableResult
  func removeObject(named name: String) async throws(UploadError) -> HTTPReply? {
    let request = S3Request(.delete, name: name, task: "remove \(name)", permission: "s3:DeleteObject")
    return try await done(request) { failure async throws(UploadError) in
      try await self.isMissing(failure, name)
    }
  }

  /// Sends a request whose success has an empty reply.
  /// - Parameter isGone: whether a refusal says that there is nothing to do; then there is no reply.
  @discardableResult
  private func done(
    _ request: S3Request, unless isGone: (S3Failure) async throws(UploadError) -> Bool
  ) async throws(UploadError) -> HTTPReply? {
    switch try await outcome(of: request) {
    case .reply(let reply):
      guard !reply.isDone else { return reply }
      throw UploadError(
        .interrupted,
        "\(store.destination) did not confirm the request to \(request.task): try again, and check its "
          + "address if it happens again")
    case .failure(let failure):
      if !(try await isGone(failure)) { throw error(failure, request) }
      return nil
    }
  }
}
