import HTTPTypes
import ReelCore
import ReelCrypto
import ReelStorage

/// The upload of one large object, part by part.
///
/// It first asks the store for unfinished uploads of the same name. The name is recorded before a byte is sent and
/// nobody can guess it, so an upload that exists is this one, interrupted. The store's own list of parts is the
/// checkpoint; each part on it is compared with the source's bytes before it counts as sent.
struct MultipartUpload: Sendable {
  let client: S3Client
  let source: UploadSource
  let key: ObjectKey
  let plan: PartPlan
  /// The number of parts sent at once.
  let width: Int
  /// Whether the object replaces one of the same name.
  let replaces: Bool
  let meter: UploadMeter
  /// How long the store may be silent while it puts the parts together.
  let silence: Duration
  /// Copies parts from an object of the store that has the same bytes; nil if there is none.
  var copying: PartCopying?

  /// Sends what is missing and makes the object visible.
  ///
  /// After a failure that another attempt may overcome, and when cancelled, the parts stay for the next attempt or run;
  /// after any other failure they are removed. If the store can't list unfinished uploads, or their parts, nothing
  /// could resume them, so they are always removed.
  func run() async throws(UploadError) {
    do throws(UploadError) {
      try await attempt()
    } catch {
      // A store without UploadPartCopy may have taken the request for an empty part, which it then does not accept
      // again (rclone). That upload has been removed, so begin another without copying.
      guard error.code == .rejected, let copying, !copying.isWorthATry else { throw error }
      var plain = self
      plain.copying = nil
      try await plain.attempt()
    }
  }

  private func attempt() async throws(UploadError) {
    // For a source without sums every part is signed, whatever the store checks. Bytes that the store copies are
    // identified only by a digest: whoever wrote the object can make others with the same CRC.
    let checks =
      copying != nil || PartProving.sums(source, plan) == nil
      ? S3Checks() : try await client.checks(by: key, source.contentType)
    let proving = PartProving(source, plan, checks)
    let start = try await start(proving)
    let (id, open) = (start.id, start.open)
    var (areSent, isStuck) = (false, false)
    do throws(UploadError) {
      let sending = await sendParts(id, start.stored, proving)
      if sending.taken > 0 { client.goesOn(id) } else { isStuck = start.isGoingOn }
      let parts = try sending.parts.get()
      areSent = true
      try await shielded { () async throws(UploadError) in try await complete(id, parts) }
      // Not shielded from cancellation, as it may read the whole object. If the run ends here, an intent names
      // the object.
      try await client.proveStored(key, source) { head async throws(UploadError) in
        try await head.isProved(source, plan, parts, proving)
      }
    } catch {
      var isGivenUp = open == nil || !Self.leavesParts(error)
      if isStuck, !areSent, error.code == .unavailable, !isGivenUp, client.isInVain(id, for: 2) {
        isGivenUp = await beginsAnother(proving)
      }
      if isGivenUp { await abort(id) }
      // The object may exist nevertheless, with its reply lost; then no later attempt would remove the other uploads.
      if areSent, error.silence == nil { await abortOthers(than: id, of: open) }
      // The store may be unable to resume an interrupted upload (rclone does not accept a part again once some of its
      // bytes have arrived). The parts are removed, and the next attempt starts over.
      if start.isGoingOn, !areSent, error.code == .rejected {
        throw UploadError(
          .interrupted,
          "\(client.store.destination) can't go on with the upload of \(key) that had broken off ("
            + error.text + "): try again")
      }
      throw error
    }
    await abortOthers(than: id, of: open)
  }

  /// Whether the store, which accepted no further part of an existing upload, accepts the first part of a new one,
  /// which the next attempt then resumes. Backblaze binds each upload to a place, which may be full. If the whole store
  /// is busy, nothing is lost.
  private func beginsAnother(_ proving: PartProving) async -> Bool {
    guard let another = try? await begin(proving) else { return false }
    var hashing = PartHashing(source, plan, proving)
    do throws(UploadError) {
      _ = try await send(try await hashing.part(1, []), another, proving)
      return true
    } catch {
      await abort(another)
      return false
    }
  }

  /// Removes what earlier attempts left under this name, and what was begun by a request that was sent twice on its
  /// way. What can't be listed or removed now is left to the bucket's own rule for leftovers.
  private func abortOthers(than id: String, of open: [String]?) async {
    guard var known = open else { return }
    // Twice, as a request may be lost.
    for _ in 1...2 {
      let others = ((try? await client.openUploads(of: key)) ?? known).filter { $0 != id }
      if others.isEmpty { return }
      for old in others { await abort(old) }
      known = []
    }
  }

  private static func leavesParts(_ error: UploadError) -> Bool {
    error.code.isWorthARetry || error.code == .cancelled || error.code == .storeUnusable
  }

  // MARK: Beginning

  /// The upload to resume, or a new one.
  private struct Start {
    let id: String
    var stored: [Int: StoredPart] = [:]
    /// The uploads of this name that were found; nil if another attempt could not resume what this one leaves.
    let open: [String]?

    /// Whether the upload was begun by an earlier attempt.
    var isGoingOn: Bool { open?.contains(id) == true }
  }

  private func start(_ proving: PartProving) async throws(UploadError) -> Start {
    let open = try await client.openUploads(of: key)
    for old in open ?? [] {
      let found: Stored
      do throws(UploadError) {
        found = try await stored(old)
      } catch {
        // The next attempt would fail in the same way, and nothing would ever remove the parts.
        if !Self.leavesParts(error) { for old in open ?? [] { await abort(old) } }
        throw error
      }
      switch found {
      case .listed(let upload):
        if isFit(upload, proving) { return Start(id: old, stored: upload.parts, open: open) }
        await abort(old)
      case .gone: break
      case .unlisted:
        for old in open ?? [] { await abort(old) }
        return Start(id: try await begin(proving), open: nil)
      }
    }
    return Start(id: try await begin(proving), open: open)
  }

  /// Whether the upload can be resumed: not if its parts only tested what the store checks, were cut differently, or
  /// have other checksums than the parts to come.
  private func isFit(_ upload: StoredUpload, _ proving: PartProving) -> Bool {
    let isAsked = proving.tellsSums || client.sendsChecksums
    // If none was requested, Amazon's default.
    let algorithm = (isAsked ? proving.fields[.checksumAlgorithm] : nil) ?? "CRC64NVME"
    return upload.parts.values.allSatisfy(plan.has) && (upload.algorithm ?? algorithm) == algorithm
  }

  private func begin(_ proving: PartProving) async throws(UploadError) -> String {
    var request = S3Request(
      .post, key, query: [("uploads", "")], task: "begin \(key)", permission: "s3:PutObject")
    request.fields = proving.fields
    request.fields[.contentType] = source.contentType
    request.keepsExtras = proving.tellsSums
    guard let id = S3Documents.uploadID(try await client.send(request).body) else {
      throw UploadError(
        .interrupted, "\(client.store.destination) began an upload without giving its id: try again"
      )
    }
    return id
  }

  /// What the store has of an upload.
  private enum Stored {
    case listed(StoredUpload)
    case gone
    /// The access key has no permission to list them, or the store does not support the request.
    case unlisted
  }

  /// Returns the name under which failed attempts to list the parts of an upload are counted.
  private static func list(of id: String) -> String { "parts of \(id)" }

  private func stored(_ id: String) async throws(UploadError) -> Stored {
    var found = StoredUpload()
    var marker: Int?
    repeat {
      let request = S3Request(
        .get, key, query: [("uploadId", id)] + (marker.map { [("part-number-marker", "\($0)")] } ?? []),
        task: "list the parts of \(key)", permission: "s3:ListMultipartUploadParts")
      switch try await client.outcome(of: request) {
      case .failure(let failure):
        if failure.isMissingUpload { return .gone }
        let error = client.error(failure, request)
        if error.code == .denied { return .unlisted }
        guard
          failure.reply.status.code != 500
            || client.isInVain(Self.list(of: id), for: S3Client.mostFailedLists),
          try await client.isOfTheQuestion(failure)
        else { throw error }
        return .unlisted
      case .reply(let reply):
        client.goesOn(Self.list(of: id))
        guard let page = S3Documents.parts(reply.body) else { return .listed(found) }
        for part in page.parts { found.parts[part.number] = part }
        found.algorithm = page.algorithm
        // The marker must grow, as a list might never end. A part that is not listed is sent again, which does no harm.
        marker = page.next.flatMap { $0 > marker ?? 0 ? $0 : nil }
      }
    } while marker != nil
    return .listed(found)
  }

  // MARK: Parts

  /// Sends the parts that are missing. Returns all parts in order, and the number that the store accepted now.
  private func sendParts(
    _ id: String, _ stored: [Int: StoredPart], _ proving: PartProving
  ) async -> (parts: Result<[SentPart], UploadError>, taken: Int) {
    await withTaskGroup(
      of: Result<SentPart, UploadError>.self, returning: (Result<[SentPart], UploadError>, Int).self
    ) { group in
      var uploads = PartUploads(width: width)
      var hashing = PartHashing(source, plan, proving)
      for number in 1...plan.count {
        if uploads.isFull { uploads.take(await group.next()) }
        if uploads.failure != nil { break }
        do throws(UploadError) {
          let there = stored[number]
          let part = try await hashing.part(number, wishes(there, proving))
          // If the store copies, an earlier run may have had it copy a part that was not proved to be ours.
          if let there, copying == nil || there.checksum != nil, part.isStored(as: there) {
            meter.set(part: number, to: there.size)
            uploads.add(
              part.sent(etag: there.etag, isChecked: proving.isChecked && part.isChecked(as: there)))
          } else {
            uploads.begin()
            group.addTask { await sent(part, id, proving) }
          }
        } catch {
          uploads.fail(error)
        }
      }
      if uploads.endsTheRest { group.cancelAll() }
      while let result = await group.next() {
        uploads.take(result)
        if uploads.endsTheRest { group.cancelAll() }
      }
      return (await uploads.result(afterProof: hashing), uploads.taken)
    }
  }

  /// Returns the digests needed to recognize a part that may be stored already.
  private func wishes(_ there: StoredPart?, _ proving: PartProving) -> PartHashing.Wishes {
    // If the store copies, each part is signed anyway.
    guard let there, copying == nil else { return [] }
    if there.checksum != nil { return .sha256 }
    return there.crc64 != nil && proving.sums != nil ? [] : .md5
  }

  private func sent(
    _ part: HashedPart, _ id: String, _ proving: PartProving
  ) async -> Result<SentPart, UploadError> {
    do throws(UploadError) {
      if let copying, copying.isWorthATry, let copied = try await copying.copy(part, of: key, id, by: client)
      {
        meter.set(part: part.number, to: Int64(part.range.count))
        return .success(copied)
      }
      return .success(try await send(part, id, proving))
    } catch {
      return .failure(error)
    }
  }

  private func send(
    _ part: HashedPart, _ id: String, _ proving: PartProving
  ) async throws(UploadError) -> SentPart {
    var request = S3Request(
      .put, key, query: [("partNumber", "\(part.number)"), ("uploadId", id)],
      task: "store part \(part.number) of \(key)", permission: "s3:PutObject")
    if let sum = part.crc64, part.tellsSum {
      request.fields = [.checksumCRC64: CRC64.text(of: sum)]
      request.keepsExtras = true
    } else if let checksum = part.checksum {
      request.fields = [.checksumSHA256: checksum]
    }
    request.payload = part.sha256.map { Hexadecimal.text($0) } ?? SignatureV4.unsignedPayload
    request.body = .source(
      SourceBody(part.range, of: source, proof: part.proof) { [meter] in
        meter.set(part: part.number, to: $0)
      })
    let reply: HTTPReply
    switch try await client.outcome(of: request) {
    case .reply(let answer): reply = answer
    case .failure(let failure):
      if failure.isMissingUpload { throw lost }
      throw client.error(failure, request)
    }
    let isAsSent = [HTTPField.Name.checksumSHA256, .checksumCRC64].allSatisfy { name in
      guard let told = reply.fields[name], let sent = request.fields[name] else { return true }
      return told == sent || !told.isChecksum(like: sent)
    }
    guard let etag = reply.fields[.eTag] else {
      throw UploadError(
        .interrupted,
        "\(client.store.destination) gave no entity tag (ETag) for part \(part.number) of \(key), without which nothing "
          + "can be put together: try again")
    }
    guard isAsSent else {
      throw UploadError(
        .interrupted,
        "\(client.store.destination) took other bytes than were sent as part \(part.number) of \(key): try again"
      )
    }
    // A proxy may have marked the ETag as weak. The store knows it without the mark (MinIO accepts no other).
    return part.sent(etag: String(etag.trimmingPrefix("W/")), isChecked: proving.isChecked(by: reply))
  }

  private var lost: UploadError {
    UploadError(
      .interrupted,
      "\(client.store.destination) no longer knows the upload of \(key): try again")
  }

  // MARK: Ending

  private func complete(_ id: String, _ parts: [SentPart]) async throws(UploadError) {
    var request = S3Request(
      .post, key, query: [("uploadId", id)], task: "put \(key) together", permission: "s3:PutObject")
    request.fields = [.contentType: "application/xml"]
    if !replaces { request.fields[.ifNoneMatch] = "*" }
    request.body = .bytes(S3Documents.completion(parts))
    request.bodyWithoutChecksums = S3Documents.completion(parts, withChecksums: false)
    // Amazon says that this can take minutes; not every store sends something in the meantime.
    request.patience = .seconds(900)
    request.thinking = silence
    request.answer = .lateWord
    let minutes = Int((silence / .seconds(60)).rounded(.up))
    let waiting = client.tell(
      "it has not answered yet to the request to put \(key) together, which may take minutes: Reel waits for "
        + "up to \(minutes) min", after: silence / 10)
    defer { waiting.cancel() }
    if case .failure(let failure) = try await client.outcome(of: request) {
      if failure.isMissingUpload { throw lost.ofWhole(.notPutTogether) }
      let error = client.error(failure, request)
      guard failure.isBrokenUpload else { throw error }
      await abort(id)
      throw error.ofWhole(.notPutTogether)
    }
  }

  /// Removes the parts, even if cancelled. What can't be removed is left to the bucket's own rule for leftovers.
  private func abort(_ id: String) async {
    for name in [id, Self.list(of: id)] { client.goesOn(name) }
    try? await shielded { () async throws(UploadError) in try await client.abortUpload(id, of: key) }
  }
}

extension String {
  /// Whether this is encoded like the other checksum: one that is written differently (in hexadecimal, say) proves
  /// no difference.
  fileprivate func isChecksum(like other: String) -> Bool {
    guard let bytes = Base64.bytes(self) else { return false }
    return bytes.count == Base64.bytes(other)?.count
  }
}

extension S3Head {
  /// Whether the store's report on an object proves that it is `source`. Tried in order of cost: its digest of the
  /// whole; what it has checked of each part and put together from them; and the ETag made of MD5s, for which the
  /// source is read. If it can't be proved, the object may still be intact.
  /// - Throws: `cancelled`.
  fileprivate func isProved(
    _ source: UploadSource, _ plan: PartPlan, _ parts: [SentPart], _ proving: PartProving
  ) async throws(UploadError) -> Bool {
    if proving.tellsSums, let sums = proving.sums, let told = crc64, told != CRC64.text(of: sums.whole) {
      return false
    }
    // With a single part, the store may merely repeat the digest that it was told.
    if plan.count > 1 || parts.allSatisfy(\.isChecked), tells(source.digest) { return true }
    // Of parts that it has not checked, a store may report whatever it was told.
    let isOfTheWhole = proving.tellsSums && crc64 != nil
    if parts.allSatisfy(\.isChecked), isOfTheWhole || tells(parts) || isOf(parts) { return true }
    return try await hasTag(of: SourceTag(source, plan))
  }
}

/// The parts being sent, those that have arrived, and the first error.
private struct PartUploads {
  let width: Int
  private var running = 0
  private var arrived: [SentPart] = []
  private(set) var failure: UploadError?
  /// The number of parts that were sent now and have arrived.
  private(set) var taken = 0

  init(width: Int) { self.width = width }

  var isFull: Bool { running >= width }

  /// Whether it is pointless to let the parts being sent finish. A store that is too busy for one part may accept the
  /// others (Backblaze answers 503 by design).
  var endsTheRest: Bool { failure.map { $0.code != .unavailable } ?? false }

  mutating func begin() { running += 1 }

  mutating func add(_ part: SentPart) { arrived.append(part) }

  mutating func fail(_ error: UploadError) { failure = failure ?? error }

  mutating func take(_ result: Result<SentPart, UploadError>?) {
    guard let result else { return }
    running -= 1
    switch result {
    case .success(let part):
      taken += 1
      add(part)
    case .failure(let error): fail(error)
    }
  }

  /// Returns all parts in order, once the source is proved.
  func result(afterProof hashing: PartHashing) async -> Result<[SentPart], UploadError> {
    if let failure { return .failure(failure) }
    do throws(UploadError) {
      try await hashing.proveEnd()
      return .success(arrived.sorted { $0.number < $1.number })
    } catch {
      return .failure(error)
    }
  }
}
