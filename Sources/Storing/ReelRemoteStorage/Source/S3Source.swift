import HTTPTypes
import ReelCore
import ReelStorage

/// Objects of a bucket as a source: one object, or all whose names have a common beginning.
package struct S3Source: RemoteSource {
  package let path: SourcePath
  package let isFolder: Bool
  /// The object's name, or the beginning of the objects' names.
  private let name: String
  private let client: S3Client
  private let retries: RetryBudget
  private let limits: RemoteLimits

  /// - Parameters:
  ///   - store: the bucket, without a prefix.
  ///   - name: an object's name, or, if it is empty or ends with a slash, the beginning of objects' names.
  package init(
    _ store: S3Store, name: String, transport: any HTTPTransport, credentials: any CredentialSource,
    limits: RemoteLimits = RemoteLimits(), clock: any WallClock = SystemWallClock(),
    policy: RetryPolicy = RetryPolicy()
  ) {
    self.init(
      S3Client(store, transport: transport, credentials: credentials, clock: clock), name: name,
      limits: limits,
      RetryBudget(policy, of: store.destination, clock: ContinuousClock(), randomness: SystemRandomness()))
  }

  private init(_ client: S3Client, name: String, limits: RemoteLimits, _ retries: RetryBudget) {
    (self.client, self.name, self.limits, self.retries) = (client, name, limits, retries)
    isFolder = name.isEmpty || name.hasSuffix("/")
    path = SourcePath(Self.address(client.store, name))
  }

  /// Returns the source with another name in the same bucket, using the same connections.
  package func named(_ name: String) -> S3Source { S3Source(client, name: name, limits: limits, retries) }

  package func sibling(_ name: [UInt8]) -> (any RemoteSource)? {
    guard !isFolder, let name = String(validating: name, as: UTF8.self) else { return nil }
    let folder = self.name.unicodeScalars.lastIndex(of: "/").map { self.name.unicodeScalars[...$0] }
    return named((folder.map { String($0) } ?? "") + name)
  }

  package func file(size: Int64, in state: RemoteState) -> RemoteFile {
    RemoteFile(path, identifier, name: name, size: size, state)
  }

  private static func address(_ store: S3Store, _ name: String) -> String {
    "\(store.destination)/\(name)"
  }

  package func page(
    after token: String?, cancellation: CancellationFlag
  ) throws(SourceError) -> RemotePage {
    let call = BlockingCall { () async -> Result<S3ListPage, UploadError> in
      do throws(UploadError) {
        return .success(
          try await retries.run { () async throws(UploadError) in
            try await client.page(of: name, from: token.flatMap { S3ListPosition(text: $0) })
          })
      } catch {
        return .failure(error)
      }
    }
    let registration = cancellation.onSet { call.cancel() }
    defer { cancellation.clear(registration) }
    guard let outcome = call.wait(), !cancellation.isSet else {
      throw SourceError(.unreadable, "cancelled before it was listed")
    }
    switch outcome {
    case .failure(let error): throw SourceError(error)
    case .success(let page):
      // An object whose name ends with a slash represents a folder in some tools, and is not a file.
      let files = page.objects.filter {
        $0.name.utf8.starts(with: name.utf8) && $0.name.utf8.last != UInt8(ascii: "/")
      }
      return RemotePage(files: files.map(file), next: page.next?.text, lastName: page.objects.last?.name)
    }
  }

  private func file(_ object: ListedObject) -> RemoteFile {
    let path = SourcePath(Self.address(client.store, object.name))
    return RemoteFile(path, path.bytes, name: object.name, size: object.size, RemoteState(tag: object.tag))
  }

  package func open(
    _ file: RemoteFile?, for use: RemoteUse, cancellation: CancellationFlag
  ) throws(SourceError) -> SourceFile {
    let fetcher = RetryingFetcher(base: S3Ranges(client: client, name: file?.name ?? name), retries: retries)
    let first = RemoteFirst.bytes(of: file, for: use)
    return try RemoteFileHandle.open(
      file?.path ?? path, (file?.path ?? path).bytes, fetcher, listed: file, first: first, for: use, limits,
      cancellation)
  }
}

extension ListedObject {
  /// The ETag with its quotation marks (RFC 9110, 8.8.3), which some lists leave out. Nil if there is none.
  fileprivate var tag: String? {
    if etag.isEmpty { return nil }
    return etag.hasPrefix("\"") || etag.hasPrefix("W/") ? etag : "\"\(etag)\""
  }
}

extension RemoteFile {
  /// - Parameter identifier: the identifier of its address.
  init(_ path: SourcePath, _ identifier: [UInt8], name: String, size: Int64, _ state: RemoteState) {
    self.init(
      path: path, name: name, identity: RemoteIdentity.of(identifier, size: size, state), state: state)
  }
}

/// The number of bytes fetched to open a file.
enum RemoteFirst {
  /// As many as the sniffer needs; more of a file to be copied, so that a small one takes a single request. One that is
  /// to be copied and is on no list may be known already, which its ETag shows: one byte will do.
  static func bytes(of file: RemoteFile?, for use: RemoteUse) -> Int64 {
    switch use {
    case .probing: Int64(Sniffer.headLength)
    case .copying: file.map { max(1, min($0.identity.size, 1 << 20)) } ?? 1
    case .finding: file == nil ? 1 : Int64(Sniffer.headLength)
    }
  }
}

/// Fetches ranges of an object.
private struct S3Ranges: RangeFetcher {
  let client: S3Client
  let name: String
  /// Whether the store takes its own ETag, exactly as it reported it, for another object's (SeaweedFS 3.97).
  private let refusesItsTag = FoundLimit()

  init(client: S3Client, name: String) { (self.client, self.name) = (client, name) }

  var server: String { client.store.destination.name }

  func origin(of pin: FilePin) -> ObjectOrigin? {
    guard let tag = pin.toldTag ?? pin.state.tag, !tag.hasPrefix("W/") else { return nil }
    return ObjectOrigin(
      service: client.store.service, bucket: client.store.bucket, name: client.store.prefix + name, tag: tag)
  }

  func fetch(
    _ range: Range<Int64>, of pin: FilePin
  ) async throws(UploadError) -> Result<FetchedRange, SourceError> {
    var request = S3Request(.get, name: name, task: "read \(name)", permission: "s3:GetObject")
    let unpinned = FilePin(size: pin.size)
    var isFree = refusesItsTag.isFound
    request.fields = .asking(for: range, of: isFree ? unpinned : pin)
    request.replyLimit = RangeAnswer.replyLimit(for: range)
    request.patience = .seconds(60 + range.count / (16 << 10))
    request.answer = .object
    let answer = RangeAnswer(range: range, pin: pin, server: server, isOfBucket: true)
    var outcome = try await client.outcome(ofSmall: request)
    // A store that writes ETags differently in lists and in replies does not recognize the listed one, and some stores
    // support no conditions. Then the request is sent without one, and the reply's report on the object decides.
    if case .failure(let failure)? = outcome, !pin.conditions.isEmpty, !isFree,
      [412, 501].contains(failure.reply.status.code)
    {
      isFree = failure.reply.status == .preconditionFailed
      request.fields = .asking(for: range, of: unpinned)
      outcome = try await client.outcome(ofSmall: request)
    }
    if case .reply(let reply)? = outcome, isFree,
      reply.fields[.eTag].map({ pin.toldTag != nil && $0.hasPrefix("W/") }) ?? true
    {
      return .failure(RangeAnswer.changed)
    }
    switch outcome {
    case nil: return .failure(answer.noRanges)
    case .reply(let reply)?:
      let read = Result { () throws(SourceError) in try answer.read(reply) }
      if isFree, pin.toldTag != nil, case .success = read { refusesItsTag.find() }
      guard case .failure(RangeAnswer.changed) = read else { return read }
      return try await underAnotherTag(reply, range, of: pin).map { .success($0) } ?? read
    case .failure(let failure)?:
      if let shorter = answer.shorter(after: failure.reply) {
        return try await fetch(shorter.range, of: shorter.pin)
      }
      if failure.reply.status.code == 412 || failure.reply.status.code == 416 {
        return Result { () throws(SourceError) in try answer.read(failure.reply) }
      }
      if try await client.isMissing(failure, name) {
        return .failure(
          SourceError(
            .notFound, "there is no object of this name in the bucket; a folder's name ends with a slash"))
      }
      throw client.error(failure, request)
    }
  }

  /// Reads a reply whose ETag is not the listed one. Some stores report one ETag of an object in a list and another in
  /// a reply (OpenStack Swift, for an object in segments). If the list still has the same ETag, the object is the same.
  /// - Returns: Nil if the object is another one, or that can't be determined.
  private func underAnotherTag(
    _ reply: HTTPReply, _ range: Range<Int64>, of pin: FilePin
  ) async throws(UploadError) -> FetchedRange? {
    guard let listed = pin.state.tag, pin.toldTag == nil, let told = reply.fields[.eTag] else { return nil }
    let answer = RangeAnswer(range: range, pin: FilePin(size: pin.size), server: server, isOfBucket: true)
    let read = Result { () throws(SourceError) in try answer.read(reply) }
    guard case .success(let fetched) = read else { return nil }
    let page: S3ListPage
    do throws(UploadError) {
      page = try await client.page(of: name, most: 1, from: nil)
    } catch {
      if error.code.isWorthARetry { throw error }
      return nil
    }
    guard let again = page.objects.first(where: { $0.name == name }), again.tag == listed,
      again.size == fetched.pin.size
    else { return nil }
    return FetchedRange(
      bytes: fetched.bytes, pin: FilePin(size: fetched.pin.size, state: pin.state, toldTag: told))
  }
}
