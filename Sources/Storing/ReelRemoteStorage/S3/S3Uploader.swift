import HTTPTypes
import ReelCore
import ReelCrypto
import ReelStorage
import Synchronization

/// Stores objects in a bucket of Amazon S3, or of a store that speaks its protocol.
///
/// Small objects are put in one request, signed with the SHA-256 of the content, which the store compares with what
/// arrives. Large ones are sent in parallel parts, and proved by what the store has been seen to check (docs/s3.md,
/// "How it is proved"). Both are created only where no object has that name (`If-None-Match: *`).
public struct S3Uploader: Uploader {
  let client: S3Client
  private let options: S3Options
  /// Whether requests are kept as small as possible, as something in front of the store refused a larger one.
  private let isNarrow = FoundLimit()

  /// - Parameters:
  ///   - transport: sends the requests.
  ///   - credentials: signs them.
  ///   - clock: dates them.
  ///   - onNotice: called with a sentence: once if signed addresses expire early, and whenever a store has not answered
  ///     for a minute.
  public init(
    _ store: S3Store, options: S3Options = S3Options(), transport: any HTTPTransport,
    credentials: any CredentialSource, clock: any WallClock = SystemWallClock(),
    onNotice: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    client = S3Client(
      store, transport: transport, credentials: credentials, clock: clock,
      leavingOut: Set(
        (options.sendsChecksums ? [] : [.checksum]) + (options.sendsConditions ? [] : [S3Extra.condition])),
      onNotice: onNotice)
    self.options = options
  }

  /// Resumable and verified. Atomic at Amazon, which documents it; at other stores two concurrent uploads may both win.
  public var traits: UploadTraits {
    UploadTraits(
      atomicCreate: client.store.endpoint == nil, resumable: true, verifiesChecksums: true, durable: true,
      isLatencyBound: true)
  }

  /// As in ``S3Store/destination``.
  public var destination: Destination { client.store.destination }

  /// Lists one name of the bucket: a wrong address, region, key or secret shows here, before anything is sent. It
  /// removes nothing, as the names of unfinished uploads do not show which of them belong to another library.
  /// - Throws: `storeUnusable`, and errors that may be temporary.
  public func prepare() async throws(UploadError) {
    var request = S3Request(
      .get, nil,
      // A name may contain characters that XML can't.
      query: [
        ("list-type", "2"), ("max-keys", "1"), ("prefix", client.store.prefix), ("encoding-type", "url"),
      ],
      task: "list the objects", permission: "s3:ListBucket")
    request.answer = .lateWord
    // Not every store respects the number of names wanted.
    request.replyLimit = S3Client.listLimit
    do throws(UploadError) {
      // A web console, or a login page, answers 200 to anything.
      let reply = try await client.send(request)
      guard S3Documents.isPage(reply.body) else {
        let advice =
          reply.isCompressed
          ? "its answer is compressed, although Reel asked for it uncompressed: check the proxy in front of it"
          : "check its address"
        throw UploadError(.storeUnusable, "\(destination) did not list its objects: \(advice)")
      }
    } catch {
      // Without this permission, a missing object can't be told from one that may not be read.
      throw error.code == .denied || error.code == .rejected
        ? UploadError(.storeUnusable, error.text) : error
    }
  }

  /// Stores `source` under `key`.
  /// - Throws: ``UploadError``, as ``Uploader`` promises.
  public func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    let meter = UploadMeter(total: source.size, reporting: reporting)
    try await store(source, key, replaces: false, meter)
    meter.finish()
    // What was sent was compared with the digest, or with the sums taken together with it, and the store has proved
    // that it holds exactly that.
    return StoredObject(key: key, url: try await url(of: key), size: source.size, digest: source.digest)
  }

  /// Returns the object's length, and its digest if the store certainly reports that of the whole.
  public func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? {
    guard let head = try await client.head(key) else { return nil }
    guard let size = head.size else {
      throw UploadError(.interrupted, "\(destination) does not tell the length of \(key): try again")
    }
    return StoredObject(key: key, url: try await url(of: key), size: size, digest: head.digest)
  }

  /// Removes the object, and the parts of unfinished uploads of the same name. Versions that the bucket keeps stay, and
  /// are reported.
  @discardableResult
  public func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval {
    let removal = try await client.remove(key)
    for id in try await client.openUploads(of: key) ?? [] { try await client.abortUpload(id, of: key) }
    return removal
  }

  /// Reads the object and hashes it.
  public func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? {
    guard let object = try await find(key) else { return nil }
    return try await client.readBack(key, size: object.size)
  }
}

extension S3Uploader: ReadableStore {
  package func download(
    _ key: ObjectKey, size: Int64, into file: any StagedFile
  ) async throws(UploadError) -> ContentDigest? {
    guard let object = try await find(key), object.size == size else { return nil }
    return try await client.readBack(key, size: size, into: file)
  }
}

extension S3Uploader {
  /// Returns an address at which anybody may read the object for `seconds`, 1 ... ``S3Viewing/longestPresigned``, from
  /// now. It is made without asking the store, so also for an object that does not exist.
  ///
  /// It is valid no longer than the credentials that sign it, and states no more time than these are known to have. It
  /// is for the region in which the bucket was last found: call ``find(_:)`` or ``prepare()`` once if that, or this
  /// machine's clock, may be wrong.
  /// - Throws: an error if the credentials can't be obtained.
  public func presignedURL(of key: ObjectKey, seconds: Int) async throws(UploadError) -> String {
    try await client.presigned(key, seconds: min(max(1, seconds), S3Viewing.longestPresigned))
  }

  /// Returns `post`, which is stored here, with signed addresses of its video and its poster, as
  /// ``presignedURL(of:seconds:)`` makes them. The addresses that a post was published with expire.
  /// - Throws: an error if the credentials can't be obtained.
  public func presigned(_ post: Post, seconds: Int) async throws(UploadError) -> Post {
    var post = post
    post.videoURL = try await presignedURL(of: post.video, seconds: seconds)
    if let poster = post.poster { post.posterURL = try await presignedURL(of: poster, seconds: seconds) }
    return post
  }
}

extension S3Uploader: DamagedObjectReplacing {
  /// Replaces the object in one step, as stores do (AWS, PutObject and CompleteMultipartUpload).
  package func replaceDamaged(
    _ key: ObjectKey, with source: UploadSource
  ) async throws(UploadError) -> Bool {
    guard try await isDamaged(key, source) else { return false }
    try await store(source, key, replaces: true, UploadMeter(total: source.size) { _ in })
    return true
  }
}

extension S3Uploader {
  private func store(
    _ source: UploadSource, _ key: ObjectKey, replaces: Bool, _ meter: UploadMeter
  ) async throws(UploadError) {
    // Read before sending: of several parallel uploads, each may discover the limit.
    let wasNarrow = isNarrow.isFound
    do throws(UploadError) {
      try await send(source, key, replaces, meter)
    } catch {
      if error.code == .alreadyExists, !replaces { throw try await contradiction(of: key) ?? error }
      // Something in front of the store (nginx, a gateway) may refuse requests of this size.
      guard error.code == .tooLarge, source.size > PartPlan.smallestPart, !wasNarrow else { throw error }
      isNarrow.find()
      try await send(source, key, replaces, meter)
    }
  }

  /// Returns the error for a store that calls a name taken under which it has no object; nil if it has one.
  private func contradiction(of key: ObjectKey) async throws(UploadError) -> UploadError? {
    guard client.store.endpoint != nil, client.sendsConditions, try await client.head(key) == nil else {
      return nil
    }
    return UploadError(
      .unavailable,
      "\(destination) says that \(key) exists, and then that it does not: try again later; if this persists, it may not "
        + "support If-None-Match, which --no-conditional-puts leaves out"
    ).ofWhole(.notShown)
  }

  private func send(
    _ source: UploadSource, _ key: ObjectKey, _ replaces: Bool, _ meter: UploadMeter
  ) async throws(UploadError) {
    let most = isNarrow.isFound ? min(PartPlan.smallestPart, options.singleLimit) : options.singleLimit
    if source.size <= most {
      try await put(source, key, replaces, meter)
    } else {
      try await putParts(source, key, replaces, meter)
    }
  }

  private func put(
    _ source: UploadSource, _ key: ObjectKey, _ replaces: Bool, _ meter: UploadMeter
  ) async throws(UploadError) {
    // Nothing of an empty source is read when it is sent, so nothing else would prove it.
    if source.size == 0 {
      let plan = PartPlan(size: 0, wanted: 0)
      try await PartHashing(source, plan, PartProving(source, plan, S3Checks())).proveEnd()
    }
    var request = S3Request(.put, key, task: "store \(key)", permission: "s3:PutObject")
    request.fields = [
      .contentType: source.contentType, .checksumSHA256: Base64.text(source.digest.bytes),
    ]
    if !replaces { request.fields[.ifNoneMatch] = "*" }
    request.payload = source.digest.hex
    request.body = .source(SourceBody(whole: source) { meter.set(part: 1, to: $0) })
    request.answer = .lateWord
    let told = S3Head(try await client.send(request))
    // A store reports what it has stored (AWS, PutObject); a proxy that answers 200 itself does not. For bytes sent
    // just now, the CRC that the store computed is also enough to show that all of them arrived.
    if let sum = told.crc64, sum == source.sums.map({ CRC64.text(of: $0.whole) }) { return }
    if try await told.isProved(source) { return }
    try await client.proveStored(key, source) { head async throws(UploadError) in
      // If the store contradicts itself, only the bytes count.
      if told.sha256 == nil, try await head.isProved(source) { return true }
      // A store whose ETags are not MD5s, and that reports nothing else, can only show that the object exists, and
      // its length.
      return !told.tellsBytes && !head.tellsBytes
    }
  }

  private func putParts(
    _ source: UploadSource, _ key: ObjectKey, _ replaces: Bool, _ meter: UploadMeter
  ) async throws(UploadError) {
    // Check now rather than have the store refuse the object after its last byte.
    if !replaces, try await client.head(key) != nil {
      throw UploadError(.alreadyExists, "\(destination) has an object named \(key) already")
    }
    try await MultipartUpload(
      client: client, source: source, key: key,
      plan: PartPlan(
        size: source.size, wanted: isNarrow.isFound ? PartPlan.smallestPart : options.partSize),
      width: options.partsAtOnce, replaces: replaces, meter: meter, silence: options.completionSilence,
      copying: PartCopying(source.origin, to: client.store)
    ).run()
  }

  private func url(of key: ObjectKey) async throws(UploadError) -> String {
    switch options.viewing {
    case .address: "\(client.addressing.origin)\(client.addressing.path(of: key))"
    case .publicBase(let base): ObjectAddresses(base: base).url(of: key)
    case .presigned(let seconds): try await client.presigned(key, seconds: seconds)
    }
  }
}

/// The options of an uploader. The defaults suit most stores.
public struct S3Options: Hashable, Sendable {
  /// The kind of address that a post gets.
  public var viewing: S3Viewing
  /// The size in bytes up to which an object is put in one request.
  public var singleLimit: Int64
  /// The size of a part in bytes, at least 5 MiB; larger where 1,000 parts would not suffice (10,000 if they would
  /// exceed 5 GiB each).
  public var partSize: Int64
  /// The number of parts of one object that are sent at once.
  public var partsAtOnce: Int
  /// Whether `x-amz-checksum-sha256` is sent. The store compares what arrives with the signed digest in any case. If a
  /// store other than Amazon's refuses the field, it is left out regardless.
  public var sendsChecksums: Bool
  /// Whether `If-None-Match: *` is sent. Without it, the store is asked beforehand whether the name is taken. If a
  /// store other than Amazon's refuses the field, it is left out regardless.
  public var sendsConditions: Bool
  /// How long a store may be silent while it puts an object together, in addition to the limit for any reply; shorter
  /// in tests.
  var completionSilence = Duration.seconds(600)

  /// One request up to 16 MiB; beyond, parts of 8 MiB, four at once.
  public init(
    viewing: S3Viewing = .address, singleLimit: Int64 = 16 << 20, partSize: Int64 = 8 << 20,
    partsAtOnce: Int = 4, sendsChecksums: Bool = true, sendsConditions: Bool = true
  ) {
    self.viewing = viewing
    self.singleLimit = max(0, singleLimit)
    self.partSize = max(PartPlan.smallestPart, partSize)
    self.partsAtOnce = max(1, partsAtOnce)
    (self.sendsChecksums, self.sendsConditions) = (sendsChecksums, sendsConditions)
  }
}

/// The kind of a post's `videoURL`, the address at which a viewer opens an object.
public enum S3Viewing: Hashable, Sendable {
  /// The store's own address, for public buckets.
  case address
  /// An address of one's own (a content delivery network, say), followed by the object's name.
  case publicBase(String)
  /// The store's own address with a signature: whoever has it may read the object for this many seconds, 1 ... 604800.
  case presigned(seconds: Int)

  /// The longest validity of a signature: seven days (AWS, "Authenticating Requests: Using Query Parameters").
  public static let longestPresigned = 604_800
}

/// Adds up what parallel requests have sent, and reports the sum: increasing, at most about twice per megabyte.
final class UploadMeter: Sendable {
  private let total: Int64
  private let reporting: @Sendable (TransferProgress) -> Void
  private let state = Mutex(State())

  private struct State: Sendable {
    var parts: [Int: Int64] = [:]
    var sum: Int64 = 0
    var reported: Int64 = -1
  }

  private static let step: Int64 = 1 << 19

  init(total: Int64, reporting: @escaping @Sendable (TransferProgress) -> Void) {
    self.total = total
    self.reporting = reporting
    set(part: 0, to: 0)
  }

  /// Records that `sent` bytes of a part are sent. The count of a part that is sent again does not go back.
  func set(part: Int, to sent: Int64) {
    // Within the lock, so that reports stay in order.
    state.withLock { state in
      let before = state.parts[part] ?? 0
      guard sent > before || state.reported < 0 else { return }
      state.parts[part] = max(sent, before)
      state.sum = min(total, state.sum + max(0, sent - before))
      report(&state)
    }
  }

  /// Reports that everything is stored.
  func finish() {
    state.withLock { state in
      state.sum = total
      report(&state)
    }
  }

  private func report(_ state: inout State) {
    guard state.sum > state.reported,
      state.reported < 0 || state.sum == total || state.sum - state.reported >= Self.step
    else { return }
    state.reported = state.sum
    reporting(TransferProgress(sent: state.sum, total: total))
  }
}
