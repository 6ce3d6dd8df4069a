import FoundationEssentials
import HTTPTypes
import ReelCore
import ReelStorage

/// The address of a file on the web: `https://host/path?query`. What stands behind the question mark may be a signature:
/// it is sent, and told to nobody.
package struct WebAddress: Sendable {
  /// Where to connect.
  let origin: HTTPOrigin
  /// Percent-encoded; begins with a slash.
  let path: String
  /// With its question mark; empty where there is none.
  let query: Secret

  /// - Throws: ``HTTPAddressError`` when it is something else, or holds a password or a fragment. The address is not repeated.
  package init(parsing text: String) throws(HTTPAddressError) {
    let halves = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard !text.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F }) else {
      throw HTTPAddressError("it holds white space or a control character: write it percent-encoded")
    }
    guard !text.contains("#") else { throw HTTPAddressError("it holds a fragment (#): leave it out") }
    let address = try HTTPAddress(parsing: String(halves[0]))
    origin = address.origin
    // A slash at the end belongs to the name.
    let path = URLComponents(string: String(halves[0]))?.percentEncodedPath ?? ""
    self.path = path.isEmpty ? "/" : path
    query = Secret(halves.count > 1 ? "?" + halves[1] : "")
  }

  /// As it is told.
  package var shown: String { origin.description + path }
}

/// A file on the web, as a source.
package struct WebSource: RemoteSource {
  package let path: SourcePath
  package var isFolder: Bool { false }
  private let address: WebAddress
  private let transport: any HTTPTransport
  private let retries: RetryBudget
  private let limits: RemoteLimits
  private let clock: any WallClock

  package init(
    _ address: WebAddress, transport: any HTTPTransport, limits: RemoteLimits = RemoteLimits(),
    clock: any WallClock = SystemWallClock(), policy: RetryPolicy = RetryPolicy(),
    waiting: any Clock<Duration> = ContinuousClock(), randomness: any Randomness = SystemRandomness()
  ) {
    (self.address, self.transport, self.limits, self.clock) = (address, transport, limits, clock)
    path = SourcePath(address.shown)
    retries = RetryBudget(
      policy, of: Destination(address.origin.description), clock: waiting, randomness: randomness)
  }

  /// What stands beside a file on the web, nobody knows.
  package func sibling(_ name: [UInt8]) -> (any RemoteSource)? { nil }

  /// There is nothing below it.
  package func page(after token: String?, cancellation: CancellationFlag) throws(SourceError) -> RemotePage {
    RemotePage(files: [], next: nil)
  }

  package func open(
    _ file: RemoteFile?, for use: RemoteUse, cancellation: CancellationFlag
  ) throws(SourceError) -> SourceFile {
    let fetcher = RetryingFetcher(
      base: WebRanges(address: address, transport: transport, clock: clock), retries: retries)
    return try RemoteFileHandle.open(
      path, fetcher, listed: nil, first: RemoteFirst.bytes(of: nil, for: use), for: use, limits, cancellation)
  }
}

/// Ranges of a file on the web.
private struct WebRanges: RangeFetcher {
  let address: WebAddress
  let transport: any HTTPTransport
  let clock: any WallClock

  var server: String { address.origin.description }

  func fetch(
    _ range: Range<Int64>, of pin: FilePin
  ) async throws(UploadError) -> Result<FetchedRange, SourceError> {
    var call = HTTPCall(
      .get, address.origin, address.path + address.query.revealed, fields: .asking(for: range, of: pin))
    call.replyLimit = range.count
    call.patience = .seconds(60)
    let answer = RangeAnswer(range: range, pin: pin, server: server)
    let reply: HTTPReply
    do throws(HTTPFailure) {
      reply = try await transport.send(call)
    } catch {
      if case .replyTooLarge(limit: range.count) = error { return .failure(answer.noRanges) }
      throw error.ofSource(server)
    }
    if HTTPReply.code(of: reply.status) == .unavailable, reply.status.code != 409 {
      throw UploadError(
        .unavailable,
        "\(server) is busy or down (status \(reply.status.code)): try again later",
        retryAfter: reply.retryAfter(now: clock.now()))
    }
    return Result { () throws(SourceError) in try answer.read(reply) }
  }
}

extension HTTPFailure {
  /// What it means for a file that is read from `server`.
  fileprivate func ofSource(_ server: String) -> UploadError {
    switch self {
    case .unreachable(let reason):
      UploadError(
        .unavailable,
        "\(server) can't be reached (\(reason)): check the address and the network, then try again"
      )
    case .silent(let time):
      UploadError(
        .interrupted, "\(server) gives no answer: try again later",
        silence: time / .seconds(1))
    case .timedOut(let reason), .broken(let reason):
      UploadError(.interrupted, "the connection to \(server) broke (\(reason)): try again")
    case .untrusted(let reason):
      UploadError(
        .rejected,
        "\(server) can't be trusted (\(reason)): give the certificate of its authority with \(setting: .caFile), or correct the "
          + "address")
    case .plainHTTP:
      UploadError(
        .rejected,
        "\(server) is not encrypted, so what is read could be changed on its way: use https, or allow it with "
          + "\(setting: .insecureHTTP)")
    default: UploadError(self, store: server)
    }
  }
}
