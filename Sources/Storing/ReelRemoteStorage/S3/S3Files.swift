import HTTPTypes
import ReelCore
import ReelCrypto
import ReelStorage
import Synchronization

/// Files in a bucket with fixed names and changing content, such as those of a web page.
///
/// This is not an ``Uploader``, which never overwrites: here a file replaces the previous one in one request, so that a
/// reader gets one or the other, and a repeated request does no harm.
package struct S3Files: Sendable {
  private let client: S3Client
  private let retries: RetryBudget
  /// The queue on which files are read and hashed.
  private let queue: BlockingQueue
  /// The width of ``queue``.
  private let processors: Int

  /// - Parameters:
  ///   - transport: sends the requests.
  ///   - credentials: signs them.
  ///   - clock: dates them.
  package init(
    _ store: S3Store, transport: any HTTPTransport, credentials: any CredentialSource,
    clock: any WallClock = SystemWallClock(), policy: RetryPolicy = RetryPolicy(), processors: Int = 2
  ) {
    client = S3Client(store, transport: transport, credentials: credentials, clock: clock)
    retries = RetryBudget(
      policy, of: store.destination, clock: ContinuousClock(), randomness: SystemRandomness())
    self.processors = processors
    queue = BlockingQueue(label: "reel.files", width: processors)
  }

  /// As ``S3Store/destination``.
  package var destination: Destination { client.store.destination }

  /// Returns the store's own address of a file, which can be opened if the file is public.
  package func url(of name: String) -> String {
    "\(client.addressing.origin)\(client.addressing.path(named: name))"
  }

  /// A file, and the metadata that its readers get.
  package struct File: Hashable, Sendable {
    /// The name without the store's prefix; slashes separate folders.
    package let name: String
    let contentType: String
    let cacheControl: String

    package init(name: String, contentType: String, cacheControl: String) {
      (self.name, self.contentType, self.cacheControl) = (name, contentType, cacheControl)
    }
  }

  /// A file as the bucket has it.
  package struct Stored: Hashable, Sendable {
    package let size: Int64
    /// The value of its ETag, which for an object put in one request is the MD5 of its bytes, unless it is encrypted
    /// with a key of one's own (AWS, "Object": SSE-KMS, SSE-C). Nil if it is not an MD5.
    let tag: UInt128?

    func holds(_ bytes: [UInt8]) -> Bool {
      guard size == bytes.count, let tag else { return false }
      return tag == Insecure.MD5.hash(data: bytes).reduce(0) { $0 << 8 | UInt128($1) }
    }
  }
}

extension S3Files {
  /// Lists the files whose names begin with `beginning`, by name.
  /// - Parameter most: the number of files after which the list may end. The first names come first.
  package func list(
    _ beginning: String, most: Int = .max
  ) async throws(UploadError) -> [String: Stored] {
    var found: [String: Stored] = [:]
    var (position, trail): (S3ListPosition?, PageTrail) = (nil, PageTrail())
    repeat {
      let from = position
      let page = try await retries.run { () async throws(UploadError) in
        try await client.page(of: client.store.prefix + beginning, most: most, from: from)
      }
      // By scalars: a combining mark after the prefix's slash joins that to another character.
      let prefix = client.store.prefix.unicodeScalars
      for object in page.objects where object.name.unicodeScalars.starts(with: prefix) {
        let tag = object.etag.isMD5 ? UInt128(object.etag.trimmingQuotes(), radix: 16) : nil
        let name = String(object.name.unicodeScalars.dropFirst(prefix.count))
        found[name] = Stored(size: object.size, tag: tag)
      }
      guard trail.goesOn(to: page.next?.text, after: page.objects.last?.name) else {
        throw UploadError(
          .rejected, "\(destination) keeps sending pages of its list of objects that lead no further")
      }
      position = found.count >= most ? nil : page.next
    } while position != nil
    return found
  }

  /// Replaces the file of that name with `bytes`.
  package func put(_ bytes: [UInt8], as file: File) async throws(UploadError) {
    var request = S3Request(
      .put, name: file.name, task: "store \(file.name)", permission: "s3:PutObject")
    request.fields = [.contentType: file.contentType, .cacheControl: file.cacheControl]
    request.body = .bytes(bytes)
    request.answer = .lateWord
    try await naming(file.name) { () throws(UploadError) in
      let told = S3Head(try await client.send(request))
      // A store reports what it has stored (AWS, PutObject); a proxy that answers 200 itself does not.
      if !told.isProved(bytes) { try await proveStored(bytes, as: file, told) }
    }
  }

  /// Checks that the bucket holds `bytes`, which its reply did not prove.
  private func proveStored(
    _ bytes: [UInt8], as file: File, _ told: S3Head
  ) async throws(UploadError) {
    guard let head = try await client.head(named: file.name) else {
      throw UploadError(
        .interrupted,
        "\(destination) did not say how storing \(file.name) ended: try again, and check its "
          + "address if it happens again")
    }
    let size = Int64(bytes.count)
    if head.size == size {
      if told.sha256 == nil && head.isProved(bytes) || !told.tellsBytes && !head.tellsBytes { return }
      let read = try await client.readBack(named: file.name, size: size)
      if read == ContentDigest(sha256: SHA256.hash(data: bytes)) { return }
    }
    throw UploadError(
      .interrupted,
      "\(destination) does not hold what was sent as \(file.name): try again, and check the store if it happens again"
    )
  }

  /// Removes a file. One that does not exist counts as removed.
  package func remove(_ name: String) async throws(UploadError) {
    try await naming(name) { () throws(UploadError) in try await client.removeObject(named: name) }
  }

  /// Retries `body`, and makes sure that its last error names the file.
  private func naming(
    _ name: String, _ body: () async throws(UploadError) -> Void
  ) async throws(UploadError) {
    do throws(UploadError) {
      try await retries.run(body)
    } catch {
      guard !error.message.contains(name) else { throw error }
      let message: ErrorMessage = "\(name): \(error.text)"
      throw UploadError(error.code, message, retryAfter: error.retryAfter, silence: error.silence)
    }
  }
}

extension S3Files {
  /// What happened to a file.
  package enum Change: Hashable, Sendable {
    /// The bucket has the same bytes.
    case none
    /// This many bytes were put.
    case put(Int64)
  }

  /// Puts those of `files` that the bucket does not hold with the same bytes.
  /// - Parameters:
  ///   - stored: the files that the bucket has.
  ///   - width: the number of requests at once.
  ///   - read: returns a file's bytes. Blocks.
  ///   - report: called for each file, from any thread.
  package func update(
    _ files: [File], stored: [String: Stored], width: Int,
    reading read: @escaping @Sendable (File) throws(UploadError) -> [UInt8],
    reporting report: @escaping @Sendable (Change) -> Void
  ) async throws(UploadError) {
    let changed = try await changed(files, stored, read, report)
    try await forEach(of: changed, atOnce: width) { file throws(UploadError) in
      let bytes = try await queue.run { () throws(UploadError) in try read(file) }
      try await put(bytes, as: file)
      report(.put(Int64(bytes.count)))
    }
  }

  private func changed(
    _ files: [File], _ stored: [String: Stored],
    _ read: @escaping @Sendable (File) throws(UploadError) -> [UInt8],
    _ report: @escaping @Sendable (Change) -> Void
  ) async throws(UploadError) -> [File] {
    let known = files.filter { stored[$0.name] != nil }
    let chunks = stride(from: 0, to: known.count, by: Self.chunk).map { known[$0...].prefix(Self.chunk) }
    let same = Mutex<Set<String>>([])
    try await forEach(of: chunks, atOnce: processors) { chunk throws(UploadError) in
      let unchanged = try await queue.run { () throws(UploadError) in
        var unchanged: [String] = []
        for file in chunk where stored[file.name]?.holds(try read(file)) ?? false {
          unchanged.append(file.name)
        }
        return unchanged
      }
      same.withLock { $0.formUnion(unchanged) }
      for _ in unchanged { report(.none) }
    }
    let unchanged = same.withLock { $0 }
    return files.filter { !unchanged.contains($0.name) }
  }

  /// The number of files that a thread compares per turn, so that it is not woken for each.
  private static let chunk = 64
}

extension S3Head {
  /// Whether the store's report proves that it holds `bytes`, which were sent just now in one request.
  fileprivate func isProved(_ bytes: [UInt8]) -> Bool {
    if etag?.lowercased() == Hexadecimal.text(Insecure.MD5.hash(data: bytes)) { return true }
    if let sha256, sha256 == Base64.text(SHA256.hash(data: bytes)) { return true }
    guard let crc64 else { return false }
    var sum = CRC64()
    sum.update(data: bytes)
    return crc64 == Base64.text(sum.finalize())
  }
}

/// Calls `body` with each of `elements`, `width` at a time. The first error ends the loop.
package func forEach<Element: Sendable>(
  of elements: [Element], atOnce width: Int,
  _ body: @escaping @Sendable (Element) async throws(UploadError) -> Void
) async throws(UploadError) {
  try await rethrowing(as: { $0 as? UploadError ?? UploadError(.cancelled, "cancelled") }) {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, element) in elements.enumerated() {
        if number >= width { try await group.next() }
        try Task.checkCancellation()
        group.addTask { try await body(element) }
      }
      try await group.waitForAll()
    }
  }
}
