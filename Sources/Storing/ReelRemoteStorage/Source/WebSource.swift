import FoundationEssentials
import HTTPTypes
import ReelCore
import ReelCrypto
import ReelStorage

/// A file on the web, as a source.
package struct WebSource: RemoteSource {
  package let path: SourcePath
  package var isFolder: Bool { false }
  private let address: WebAddress
  private let transport: any HTTPTransport
  private let retries: RetryBudget
  private let limits: RemoteLimits
  /// Where to put a file that the server sends only as a whole; nil to refuse such files.
  private let staging: (any StagingArea)?

  package init(
    _ address: WebAddress, transport: any HTTPTransport, limits: RemoteLimits = RemoteLimits(),
    staging: (any StagingArea)? = nil
  ) {
    (self.address, self.transport, self.limits, self.staging) = (address, transport, limits, staging)
    path = SourcePath(address.shown)
    retries = RetryBudget(
      RetryPolicy(), of: Destination(address.origin.description), clock: ContinuousClock(),
      randomness: SystemRandomness())
  }

  /// Contains the query only as a digest.
  package var identifier: [UInt8] {
    let query = Array(address.unsignedQuery.utf8)
    return query.isEmpty ? path.bytes : path.bytes + [0] + Array(SHA256.hash(data: query))
  }

  /// Nil, as the neighbors of a file on the web are unknown.
  package func sibling(_ name: [UInt8]) -> (any RemoteSource)? { nil }

  /// Returns an empty page, as nothing lies below a file.
  package func page(after token: String?, cancellation: CancellationFlag) throws(SourceError) -> RemotePage {
    RemotePage(files: [], next: nil)
  }

  package func file(size: Int64, in state: RemoteState) -> RemoteFile {
    RemoteFile(path, identifier, name: address.path, size: size, state)
  }

  package func open(
    _ file: RemoteFile?, for use: RemoteUse, cancellation: CancellationFlag
  ) throws(SourceError) -> SourceFile {
    let ranges = WebRanges(address: address, transport: transport)
    do throws(SourceError) {
      return try RemoteFileHandle.open(
        path, identifier, RetryingFetcher(base: ranges, retries: retries), listed: file,
        first: RemoteFirst.bytes(of: file, for: use), for: use, limits, cancellation)
    } catch {
      // A copy can be made without ranges.
      guard use != .probing, error == ranges.noRanges, let staging, let whole = try head(cancellation) else {
        throw error
      }
      let identity = RemoteIdentity.of(identifier, size: whole.pin.size ?? 0, whole.pin.state)
      return SourceFile(
        path: path, identity: identity,
        handle: WholeFileHandle(
          address, transport: transport, retries: retries, pin: whole.pin, identity: identity,
          requests: whole.requests, in: staging, cancellation))
    }
  }

  /// Returns the server's report on the file, from its reply to HEAD, or to GET, as many servers refuse HEAD; nil if it
  /// does not state the length.
  private func head(_ cancellation: CancellationFlag) throws(SourceError) -> (pin: FilePin, requests: Int)? {
    if let pin = try head(HTTPCall(.head, address.origin, address.target), cancellation) { return (pin, 2) }
    var call = HTTPCall(.get, address.origin, address.target)
    call.endsAtHead = true
    return try head(call, cancellation).map { ($0, 3) }
  }

  private func head(_ call: HTTPCall, _ cancellation: CancellationFlag) throws(SourceError) -> FilePin? {
    let call = BlockingCall { [transport, retries] () async -> HTTPReply? in
      try? await retries.run { () async throws(UploadError) in
        try await transport.reply(to: call)
      }
    }
    let registration = cancellation.onSet { call.cancel() }
    defer { cancellation.clear(registration) }
    guard let reply = call.wait().flatMap(\.self), reply.status == .ok, !reply.isCompressed,
      let size = reply.contentLength, size <= RangeAnswer.largest
    else { return nil }
    return FilePin(size: size, state: RemoteState(reply.fields))
  }
}

/// Fetches ranges of a file on the web.
private struct WebRanges: RangeFetcher {
  let address: WebAddress
  let transport: any HTTPTransport

  var server: String { address.origin.description }

  /// The error for a server without support for ranges.
  var noRanges: SourceError { RangeAnswer(range: 0..<1, pin: FilePin(), server: server).noRanges }

  func fetch(
    _ range: Range<Int64>, of pin: FilePin
  ) async throws(UploadError) -> Result<FetchedRange, SourceError> {
    var call = HTTPCall(
      .get, address.origin, address.target, fields: .asking(for: range, of: pin))
    call.replyLimit = RangeAnswer.replyLimit(for: range)
    call.patience = .seconds(60 + range.count / (16 << 10))
    let answer = RangeAnswer(range: range, pin: pin, server: server)
    let reply: HTTPReply
    do throws(HTTPFailure) {
      reply = try await transport.send(call)
    } catch {
      if case .replyTooLarge = error { return .failure(answer.noRanges) }
      throw error.ofSource(server)
    }
    try reply.checkAvailable(server)
    if let shorter = answer.shorter(after: reply) { return try await fetch(shorter.range, of: shorter.pin) }
    return Result { () throws(SourceError) in try answer.read(reply) }
  }
}

extension HTTPTransport {
  /// Throws errors that may be temporary.
  fileprivate func reply(to call: HTTPCall) async throws(UploadError) -> HTTPReply {
    let server = call.origin.description
    let reply = try await rethrowing(as: { $0.ofSource(server) }) { () async throws(HTTPFailure) in
      try await send(call)
    }
    try reply.checkAvailable(server)
    return reply
  }
}

extension HTTPReply {
  /// - Throws: `unavailable` if it says that the server can't answer now.
  func checkAvailable(_ server: String) throws(UploadError) {
    guard HTTPReply.code(of: status) == .unavailable, status.code != 409 else { return }
    throw UploadError(
      .unavailable, "\(server) is busy or down (status \(status.code)): try again later",
      retryAfter: retryAfter(now: SystemWallClock().now()))
  }
}

extension HTTPFailure {
  /// Returns what the failure means for a file that is read from `server`.
  func ofSource(_ server: String) -> UploadError {
    switch self {
    case .unreachable(let reason):
      UploadError(
        .unavailable,
        "\(server) can't be reached (\(reason)): check the address and the network, then try again"
      )
    case .silent(let time):
      UploadError(
        .interrupted, "\(server) does not answer: try again later",
        silence: time / .seconds(1))
    case .timedOut(let reason), .broken(let reason):
      UploadError(.interrupted, "the connection to \(server) broke (\(reason)): try again")
    case .untrusted(let reason):
      UploadError(.rejected, "\(server) can't be trusted (\(reason)): " + TLSFault.advice(for: reason))
    case .plainHTTP:
      UploadError(
        .rejected,
        "\(server) is not encrypted, so what is read could be changed on its way: use https, or allow it with "
          + "\(setting: .insecureHTTP)")
    default: UploadError(self, store: server)
    }
  }
}
