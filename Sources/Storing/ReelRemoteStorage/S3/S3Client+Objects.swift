import Glibc
import HTTPTypes
import ReelCore
import ReelCrypto
import ReelStorage

/// What a store says of an object without giving its bytes.
struct S3Head: Sendable, Hashable {
  /// Bytes; nil when the store does not tell.
  private(set) var size: Int64?
  /// Without its quotation marks; nil when the store does not tell.
  private(set) var etag: String?
  /// `x-amz-checksum-sha256`, of whatever it may be: the whole, or the parts' digests.
  let sha256: String?
  /// `x-amz-checksum-crc64nvme`; nil where it is not that of the whole.
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

  /// The same with what `reply` says, an answer to a question for the object's first byte. Nil when it is of no object.
  func completed(by reply: HTTPReply) -> S3Head? {
    var head = self
    head.etag = reply.fields[.eTag]?.trimmingQuotes() ?? etag
    if let range = reply.fields[.contentRange] {
      // Of a part the length is that part's alone.
      head.size = ContentRange(parsing: range)?.size
    } else {
      // A page to log in has a length, too; a part of it nobody gives, nor an entity tag with it.
      head.size = head.etag == nil || reply.status == .partialContent ? nil : reply.contentLength
    }
    return head.size == nil ? nil : head
  }

  /// Whether this is told of bytes: where it is not what was expected, only the bytes say whether they are.
  var tellsBytes: Bool { sha256 != nil || crc64 != nil || etag?.isMD5 ?? true }

  /// Whether what the store says of an object that was put in one request proves that it is `source`: its digest, or its
  /// tag, where that is the MD5, for which the source is read.
  /// - Throws: `cancelled`.
  func isProved(_ source: UploadSource) async throws(UploadError) -> Bool {
    if tells(source.digest) { return true }
    return try await hasTag(of: SourceTag(whole: source))
  }

  /// Whether the tag is that of a source, which is read for it. What is not proved may still be there.
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

  /// The SHA-256 of the object's bytes, where it is sure that the checksum is of those: one of an object in parts may be
  /// of the parts' digests, and some stores leave out the number of parts that says so.
  var digest: ContentDigest? {
    guard checksumType.map({ $0 == "FULL_OBJECT" }) ?? !(etag?.contains("-") ?? false) else { return nil }
    return sha256.flatMap { Base64.bytes($0) }.flatMap { ContentDigest(sha256: $0) }
  }

  /// Whether the checksum is that of the whole.
  func tells(_ digest: ContentDigest) -> Bool { sha256 == Base64.text(digest.bytes) }

  /// Whether the checksum is the composite one of `parts`, with their number behind it or without (AWS, "Checking object
  /// integrity"). That says of the bytes what the store has checked of the parts: it was told their digests.
  func tells(_ parts: [SentPart]) -> Bool {
    guard let sha256 else { return false }
    let digests = parts.compactMap(\.sha256)
    guard digests.count == parts.count else { return false }
    let composite = Base64.text(SHA256.hash(data: digests.joined()))
    return [composite, "\(composite)-\(parts.count)"].contains(sha256)
  }

  /// Whether the tag is that of an object that was put together from just these parts, by the tags that the store gave
  /// them: the MD5 of their MD5s, and how many they are. That says of the bytes what the store has checked of the parts.
  func isOf(_ parts: [SentPart]) -> Bool {
    let tags = parts.map { Hexadecimal.bytes($0.etag.trimmingQuotes()) }
    guard let etag, tags.allSatisfy({ $0?.count == 16 }) else { return false }
    return etag == Hexadecimal.text(Insecure.MD5.hash(data: tags.compactMap(\.self).joined()))
      + "-\(parts.count)"
  }
}

extension S3Client {
  /// What the store says of the object; nil when there is none. A length of which HEAD says something else than is known,
  /// or that it is 0 (localstack, MinIO and others had times when they said that of any object), GET has to say, too.
  /// - Parameter size: bytes that it has, where that is known: `rclone serve s3` hashes them before it answers.
  func head(_ key: ObjectKey, size: Int64 = 0) async throws(UploadError) -> S3Head? {
    try await head(named: key.rawValue, size: size)
  }

  /// The same of any object.
  /// - Parameter name: as ``S3Request/name``.
  func head(named name: String, size: Int64 = 0) async throws(UploadError) -> S3Head? {
    var request = Self.look(for: name)
    request.fields = [.checksumMode: "ENABLED"]
    // A slow disk, or a busy one.
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

  /// What a store says of an object of whose length, or tag, its reply to HEAD says nothing: that to GET does, of which
  /// only the head is read.
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
          "what answers for \(store.destination) does not say what \(name) is: try again")
      }
      return head
    case .failure(let failure):
      // Of an empty one there is no first byte.
      if failure.reply.status.code == 416 {
        if head.size == 0, head.etag != nil { return head }
        if let head = head.completed(by: failure.reply), head.size == 0 { return head }
      }
      if try await isMissing(failure, name) { return nil }
      throw error(failure, request)
    }
  }

  /// Whether `failure` says that `name` is not in the bucket. Where it may be anybody's word, the store has to say so again,
  /// to HEAD and by its list.
  /// - Throws: what the store says when it is not there itself.
  func isMissing(_ failure: S3Failure, _ name: String) async throws(UploadError) -> Bool {
    if failure.isMissing { return true }
    guard failure.mayBeMissing else { return false }
    // Not ``head(named:size:)``, which may ask with GET what has just been refused.
    let request = Self.look(for: name)
    switch try await outcome(of: request) {
    case .reply: return false
    case .failure(let failure): guard failure.isMissing else { throw error(failure, request) }
    }
    let whole = store.prefix + name
    return !(try await page(of: whole, most: 1, from: nil)).objects.contains { $0.name == whole }
  }

  /// Whether `failure` says that the store does not know the question. Where it may be anybody's word, the bucket has
  /// to answer another one: what stands before a store has no answer to either.
  /// - Throws: what the store says when it is not there.
  func isOfTheQuestion(_ failure: S3Failure) async throws(UploadError) -> Bool {
    guard failure.isOfTheQuestion else { return false }
    guard failure.mayBeMissing || failure.reply.status.code == 500 else { return true }
    do throws(UploadError) {
      _ = try await page(of: store.prefix, most: 1, from: nil)
    } catch {
      // That is a store's word, too.
      guard error.code == .denied || error.code == .rejected else { throw error }
    }
    return true
  }

  /// Sees that the store holds `source` under `key`: what counts is what it holds, whatever it has said of storing it.
  /// - Parameter isProved: whether what it says of the object proves that. If not, the object is read back, where it has the
  ///   right length.
  /// - Throws: `interrupted` when it is nothing, `verificationFailed` when it is proved to be something else.
  func proveStored(
    _ key: ObjectKey, _ source: UploadSource, _ isProved: (S3Head) async throws(UploadError) -> Bool
  ) async throws(UploadError) {
    guard let head = try await head(key, size: source.size), let size = head.size else {
      throw UploadError(
        .interrupted,
        "\(store.destination) took \(key), and does not show it: try again, and check its address if it happens again"
      ).ofWhole(.notShown)
    }
    if size == source.size {
      if try await isProved(head) { return }
      guard let read = try await readBack(key, size: size) else {
        throw UploadError(.interrupted, "\(key) is not in \(store.destination) any more: try again")
      }
      if read == source.digest { return }
    }
    throw await damaged(key, source)
  }

  /// The digest of the object's `size` bytes, read back; nil when there is none.
  /// - Parameter file: where the bytes go; nil for nowhere.
  func readBack(
    _ key: ObjectKey, size: Int64, into file: (any StagedFile)? = nil
  ) async throws(UploadError) -> ContentDigest? {
    try await readBack(named: key.rawValue, size: size, into: file)
  }

  /// The same of any object.
  /// - Parameter name: as ``S3Request/name``.
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

/// The bytes of an object, as far as they have come.
private struct ReadObject: Sendable {
  let file: (any StagedFile)?
  /// As many bytes as there should be; what a store sends beyond them goes nowhere.
  let size: Int64
  var hash = SHA256()
  var count: Int64 = 0
  /// Why they are not all in the file.
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
  /// Bytes of a page of a list: a thousand names of up to 1024 bytes, some escaped, and what is told of each.
  static let listLimit = 8 << 20

  /// A page of the objects whose names begin with `beginning`, in the order of the store.
  /// - Parameter most: objects that are wanted; a page never has more than a thousand.
  func page(
    of beginning: String, most: Int = .max, from position: S3ListPosition?
  ) async throws(UploadError) -> S3ListPage {
    var request = S3Request(
      .get, nil,
      // A name may hold what XML can't.
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
          ? "\(store.destination) lists an object without its name or its size: what is there can't be told; ask who runs it"
          : "\(store.destination) did not list its objects: try again, and check its address if it happens again"
      )
    }
    // A store that goes on from no name gives the same page for ever.
    let isStuck: Bool
    switch position {
    case .after(let name): isStuck = page.objects.contains { $0.name == name }
    case .token: isStuck = page.next == position
    case nil: isStuck = false
    }
    guard !isStuck, page.isWhole || page.next != nil else {
      throw UploadError(
        .rejected,
        "\(store.destination) does not say how its list of objects goes on: it has to answer ListObjectsV2, or to go on "
          + "after a name (start-after)")
    }
    return page
  }

  /// Attempts in which a store answers 500 to a list that an upload can do without, until it counts as one that has none
  /// (localstack): once, anybody says it.
  static let mostFailedLists = 3

  /// The unfinished uploads of exactly `key`, the newest first. Nil where they can't be listed, as the access key may
  /// not, or the store knows no such question, or answers it in XML that is none: then nobody finds again what an
  /// upload that broke leaves.
  func openUploads(of key: ObjectKey) async throws(UploadError) -> [String]? {
    let name = store.prefix + key.rawValue
    var found: [S3Documents.ListedUpload] = []
    // Some list all that there are, whatever the prefix.
    var markers: [[String]] = []
    // So there may be other people's names, which may hold what XML can't.
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
        // Some stores take this for another question, and answer that. What is not an answer at all is none.
        guard XMLNode(parsing: reply.body) != nil else {
          unreadable += 1
          guard S3Documents.isWholeListOfUploads(reply.body) else {
            throw UploadError(
              .interrupted,
              "\(store.destination) did not list its unfinished uploads: try again")
          }
          // It may be damaged on its way; what is so each time, is what the store says.
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
        // So says `rclone serve s3` of a bucket in which none was ever begun.
        if failure.isMissingUpload { return [] }
        let error = error(failure, request)
        if error.code == .denied { return nil }
        if failure.reply.status.code == 500, !failsToList {
          guard isInVain(name, for: Self.mostFailedLists) else { throw error }
          failsToList = true
        }
        guard try await isOfTheQuestion(failure) else { throw error }
        // It may know the question, and not how the names are to be written.
        if encoding.isEmpty || ![400, 501].contains(failure.reply.status.code) { return nil }
        encoding = []
      }
    }
    return found.sorted { $0.begun > $1.begun }.map(\.id)
  }

  /// Of a thousand uploads each.
  private static let mostUploadPages = 100
  /// Answers that can't be read.
  private static let mostUnreadable = 3

  /// Removes an unfinished upload's parts; one that is not there is removed already.
  func abortUpload(_ id: String, of key: ObjectKey) async throws(UploadError) {
    let request = S3Request(
      .delete, key, query: [("uploadId", id)], task: "give up the upload of \(key)",
      permission: "s3:AbortMultipartUpload")
    try await done(request) { failure async throws(UploadError) in
      if failure.isMissing || failure.isMissingUpload { return true }
      // Where it may be anybody's word, the list has to say so, too.
      guard failure.mayBeMissing, let open = try await self.openUploads(of: key) else { return false }
      return !open.contains(id)
    }
  }

  /// Of an object that was just created and, as the store says itself, is not what was sent.
  func damaged(_ key: ObjectKey, _ source: UploadSource) async -> UploadError {
    let error = UploadError(
      .verificationFailed,
      "\(store.destination) says that it holds something other than what was sent as \(key)")
    return await source.disowning(key, error) { () async throws(UploadError) in
      try await self.remove(key)
    }
  }

  /// Removes the object, and gives the store's word for it; nil when there was none.
  /// - Parameter name: as ``S3Request/name``.
  @discardableResult
  func removeObject(named name: String) async throws(UploadError) -> HTTPReply? {
    let request = S3Request(.delete, name: name, task: "remove \(name)", permission: "s3:DeleteObject")
    return try await done(request) { failure async throws(UploadError) in
      try await self.isMissing(failure, name)
    }
  }

  /// Asks for what there is nothing to say about when it is done.
  /// - Parameter isGone: whether a refusal says that there is nothing to be done; then there is no reply.
  @discardableResult
  private func done(
    _ request: S3Request, unless isGone: (S3Failure) async throws(UploadError) -> Bool
  ) async throws(UploadError) -> HTTPReply? {
    switch try await outcome(of: request) {
    case .reply(let reply):
      guard !reply.isDone else { return reply }
      throw UploadError(
        .interrupted,
        "\(store.destination) did not say that it did \(request.task): try again, and check its "
          + "address if it happens again")
    case .failure(let failure):
      if !(try await isGone(failure)) { throw error(failure, request) }
      return nil
    }
  }
}
