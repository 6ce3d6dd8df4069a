import HTTPTypes
import ReelCore
import ReelCrypto
import ReelStorage
import Synchronization

/// Stores objects in a bucket of Amazon S3, or of a store that speaks its protocol.
///
/// Small objects are put in one request, signed with the SHA-256 of what is sent, which the store holds against what
/// arrives; large ones in parts side by side, proved by what the store has been seen to check (docs/s3.md, "How it is
/// proved"). Both only where nothing has that name (`If-None-Match: *`).
public struct S3Uploader: Uploader {
  let client: S3Client
  private let options: S3Options
  /// Whether requests are as small as they may be: what stands before the store took no larger ones.
  private let isNarrow = FoundLimit()

  /// - Parameters:
  ///   - transport: sends the requests.
  ///   - credentials: signs them.
  ///   - clock: dates them.
  ///   - onNotice: called with a sentence: once, where signed addresses end before their time; and where a store has not
  ///     answered for a minute.
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

  /// Resumable and verified. Atomic at Amazon, which documents it; other stores may let two win at once.
  public var traits: UploadTraits {
    UploadTraits(
      atomicCreate: client.store.endpoint == nil, resumable: true, verifiesChecksums: true, durable: true,
      isLatencyBound: true)
  }

  /// As ``S3Store/destination``.
  public var destination: Destination { client.store.destination }

  /// Asks the bucket for one name: a wrong address, region, key or secret shows here, before anything is sent. It
  /// removes nothing: which unfinished uploads are another library's, nobody can tell from their names.
  /// - Throws: `storeUnusable`, and what may pass.
  public func prepare() async throws(UploadError) {
    var request = S3Request(
      .get, nil,
      // A name may hold what XML can't.
      query: [
        ("list-type", "2"), ("max-keys", "1"), ("prefix", client.store.prefix), ("encoding-type", "url"),
      ],
      task: "list the objects", permission: "s3:ListBucket")
    request.answer = .lateWord
    // Not every store heeds how many are wanted.
    request.replyLimit = S3Client.listLimit
    do throws(UploadError) {
      // A web console, or a page to log in, answers 200 to anything.
      let reply = try await client.send(request)
      guard S3Documents.isPage(reply.body) else {
        let advice =
          reply.isCompressed
          ? "its answer is compressed, which Reel asks not to have: see what stands before it"
          : "check its address"
        throw UploadError(.storeUnusable, "\(destination) did not list its objects: \(advice)")
      }
    } catch {
      // Without it nobody can tell whether an object is there.
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
    // What went out was held against the digest, or against the sums that were taken with it; the store has proved that it
    // holds just that.
    return StoredObject(key: key, url: try await url(of: key), size: source.size, digest: source.digest)
  }

  /// The object's length, and its digest where the store surely tells that of the whole.
  public func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? {
    guard let head = try await client.head(key) else { return nil }
    guard let size = head.size else {
      throw UploadError(.interrupted, "\(destination) does not tell the length of \(key): try again")
    }
    return StoredObject(key: key, url: try await url(of: key), size: size, digest: head.digest)
  }

  /// Removes the object, and the parts of unfinished uploads under the same name. What a bucket keeps as versions stays,
  /// and is told.
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
  /// An address by which anybody may read the object for so many seconds, 1 ... ``S3Viewing/longestPresigned``, from now.
  /// It is made here, without asking the store: also for an object that is not there.
  ///
  /// It is good no longer than the credentials that sign it, and states no more time than these are known to have. It is for
  /// the region that the store was last found in: call ``find(_:)`` or ``prepare()`` once where that, or this machine's clock, may be wrong.
  /// - Throws: what keeps the credentials from being had.
  public func presignedURL(of key: ObjectKey, seconds: Int) async throws(UploadError) -> String {
    try await client.presigned(key, seconds: min(max(1, seconds), S3Viewing.longestPresigned))
  }

  /// `post`, which is stored here, with signed addresses of its video and its poster, as ``presignedURL(of:seconds:)``
  /// makes them: a post keeps those that it was published with, which end.
  /// - Throws: what keeps the credentials from being had.
  public func presigned(_ post: Post, seconds: Int) async throws(UploadError) -> Post {
    var post = post
    post.videoURL = try await presignedURL(of: post.video, seconds: seconds)
    if let poster = post.poster { post.posterURL = try await presignedURL(of: poster, seconds: seconds) }
    return post
  }
}

extension S3Uploader: DamagedObjectReplacing {
  /// A store puts an object in another's place in one step (AWS, PutObject and CompleteMultipartUpload).
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
    // Of several that go out side by side, each may find it out.
    let wasNarrow = isNarrow.isFound
    do throws(UploadError) {
      try await send(source, key, replaces, meter)
    } catch {
      if error.code == .alreadyExists, !replaces { throw try await contradiction(of: key) ?? error }
      // It may be what stands before the store (nginx, a gateway) that takes no request of this size.
      guard error.code == .tooLarge, source.size > PartPlan.smallestPart, !wasNarrow else { throw error }
      isNarrow.find()
      try await send(source, key, replaces, meter)
    }
  }

  /// What is to be said of a store that takes a name for taken under which it has nothing; nil where it has.
  private func contradiction(of key: ObjectKey) async throws(UploadError) -> UploadError? {
    guard client.store.endpoint != nil, client.sendsConditions, try await client.head(key) == nil else {
      return nil
    }
    return UploadError(
      .unavailable,
      "\(destination) says that it has \(key) already, and then that it has not: try again later; if it goes on so, it may "
        + "not know If-None-Match, which --no-conditional-puts leaves out"
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
    // Nothing is read of an empty source, so nothing would prove it.
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
    // A store tells what it has stored (AWS, PutObject); what stands before one and answers 200 itself does not. Of what was
    // sent just now also the CRC that it found says whether all of it arrived.
    if let sum = told.crc64, sum == source.sums.map({ CRC64.text(of: $0.whole) }) { return }
    if try await told.isProved(source) { return }
    try await client.proveStored(key, source) { head async throws(UploadError) in
      // Of one that contradicts itself, only the bytes count.
      if told.sha256 == nil, try await head.isProved(source) { return true }
      // A store whose tags are no MD5s, and that tells nothing else, says no more than that it is there, and how long.
      return !told.tellsBytes && !head.tellsBytes
    }
  }

  private func putParts(
    _ source: UploadSource, _ key: ObjectKey, _ replaces: Bool, _ meter: UploadMeter
  ) async throws(UploadError) {
    // Two gigabytes are not sent to be refused at their end.
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

/// How an uploader works; what the defaults are good for is most.
public struct S3Options: Hashable, Sendable {
  /// What a post's address is.
  public var viewing: S3Viewing
  /// Bytes up to which an object is put in one request.
  public var singleLimit: Int64
  /// Bytes of a part, at least 5 MiB; more where 1,000 would not do (10,000 beyond 5 GiB each).
  public var partSize: Int64
  /// Parts of one object on their way at once.
  public var partsAtOnce: Int
  /// Whether `x-amz-checksum-sha256` is sent; the store holds what arrives against the signed digest all the same. Where
  /// a store other than Amazon's refuses it, it is left out whatever is said here.
  public var sendsChecksums: Bool
  /// Whether `If-None-Match: *` is sent. Without it, the store is asked before whether the name is taken; where a store
  /// other than Amazon's refuses it, it is left out whatever is said here.
  public var sendsConditions: Bool
  /// How long a store may be silent while it puts an object together, beyond what any reply may take; a test's is shorter.
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

/// What a post's `videoURL` is: the address by which a viewer opens an object.
public enum S3Viewing: Hashable, Sendable {
  /// The store's own address: for buckets that everybody may read.
  case address
  /// An address of one's own (a content delivery network, say), with the object's name behind it.
  case publicBase(String)
  /// The store's own address with a signature: whoever has it may read the object for so many seconds, 1 ... 604800.
  case presigned(seconds: Int)

  /// The longest that a signature counts: seven days (AWS, "Authenticating Requests: Using Query Parameters").
  public static let longestPresigned = 604_800
}

/// Adds up what parallel requests have sent, and reports it: growing, about twice a megabyte at most.
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

  /// Part `part` has come to `sent` bytes. One that is sent anew does not fall back.
  func set(part: Int, to sent: Int64) {
    // Within the lock, so that two reports never pass each other.
    state.withLock { state in
      let before = state.parts[part] ?? 0
      guard sent > before || state.reported < 0 else { return }
      state.parts[part] = max(sent, before)
      state.sum = min(total, state.sum + max(0, sent - before))
      report(&state)
    }
  }

  /// All of it is stored.
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
