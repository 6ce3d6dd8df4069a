import ReelCore
import ReelCrypto
import ReelStorage
import Synchronization

/// Requests ranges of a file.
protocol RangeFetcher: Sendable {
  /// The server's name for messages, without anything secret.
  var server: String { get }

  /// Sends one request.
  /// - Throws: errors that may be temporary; permanent ones are returned.
  func fetch(
    _ range: Range<Int64>, of pin: FilePin
  ) async throws(UploadError) -> Result<FetchedRange, SourceError>

  /// Returns the object that is read, in the state `pin`; nil if it is not an object.
  func origin(of pin: FilePin) -> ObjectOrigin?
}

extension RangeFetcher {
  func origin(of pin: FilePin) -> ObjectOrigin? { nil }
}

/// Limits for reading a remote file.
package struct RemoteLimits: Hashable, Sendable {
  /// The maximum number of bytes fetched of a file that is only probed.
  package var bytes: Int64 = 64 << 20
  /// The maximum time to wait for them, all requests together.
  package var patience = Duration.seconds(60)

  package init() {}
}

/// A file of a store or a server, read by range. Its state is that of the first reply: each request names that state,
/// and a reply about another one is `sourceChanged`.
final class RemoteFileHandle: RemoteHandle {
  private struct State {
    var cache: RangeCache
    var ahead: ReadAhead
    var transfer: SourceTransfer
    var waited: Duration
    /// The offset up to which the file has been read in order.
    var copied: Int64
    /// The range being fetched before it is asked for.
    var prefetched: Prefetched?
  }
  private struct Prefetched {
    let range: Range<Int64>
    let task: Task<Attempted, Never>
  }
  typealias Attempted = (result: Result<FetchedRange, SourceError>, requests: Int)

  private let fetcher: RetryingFetcher
  private let identity: FileIdentity
  private let pin: FilePin
  private let use: RemoteUse
  private let limits: RemoteLimits
  private let cancellation: CancellationFlag
  private let progress: Mutex<State>

  /// The number of bytes cached of a file that is probed.
  private static let cached = 8 << 20
  /// The size in bytes up to which a copied file stays cached: a file that the sniffer reads as a whole is read again.
  private static let kept = Int64(Sniffer.headLength)
  /// The number of bytes fetched at once of a file that is copied; two such pieces are in memory.
  private static let copied: Int64 = 4 << 20

  /// Opens a file by fetching its first bytes.
  /// - Parameters:
  ///   - identifier: the identifier of its address.
  ///   - listed: what a list says about it.
  ///   - first: the number of bytes to fetch first.
  static func open(
    _ path: SourcePath, _ identifier: [UInt8], _ fetcher: RetryingFetcher, listed: RemoteFile?, first: Int64,
    for use: RemoteUse, _ limits: RemoteLimits, _ cancellation: CancellationFlag
  ) throws(SourceError) -> SourceFile {
    let known = FilePin(size: listed?.identity.size, state: listed?.state ?? RemoteState())
    // A file that is on no list is opened while others wait to be found, so its time is limited, too.
    let patience = use == .probing || listed == nil ? limits.patience : nil
    let (attempted, waited) = try waiting(within: patience, cancellation) {
      await fetcher.fetch(0..<max(1, first), of: known)
    }
    let fetched = try attempted.result.get()
    let size = fetched.pin.size ?? Int64(fetched.bytes.count)
    // If the list reported no state, its identity was made from the size alone.
    let identity =
      if let listed, listed.state == RemoteState() { listed.identity } else {
        RemoteIdentity.of(identifier, size: size, fetched.pin.state)
      }
    var state = State(
      cache: RangeCache(capacity: Self.cached),
      ahead: ReadAhead(size: size, fetched: Int64(fetched.bytes.count)),
      transfer: SourceTransfer(bytes: Int64(fetched.bytes.count), requests: attempted.requests),
      waited: waited,
      copied: Int64(fetched.bytes.count))
    state.cache.add(fetched.bytes, at: 0)
    let handle = RemoteFileHandle(
      fetcher: fetcher, identity: identity, pin: fetched.pin, use: use, limits: limits, cancellation, state)
    return SourceFile(path: path, identity: identity, handle: handle)
  }

  private init(
    fetcher: RetryingFetcher, identity: FileIdentity, pin: FilePin, use: RemoteUse, limits: RemoteLimits,
    _ cancellation: CancellationFlag, _ state: sending State
  ) {
    (self.fetcher, self.identity, self.pin, self.use) = (fetcher, identity, pin, use)
    (self.limits, self.cancellation) = (limits, cancellation)
    progress = Mutex(state)
  }

  deinit { progress.withLock { $0.prefetched?.task.cancel() } }

  var descriptor: Int32? { nil }

  var transfer: SourceTransfer { progress.withLock { $0.transfer } }

  var state: RemoteState { pin.state }

  var origin: ObjectOrigin? { fetcher.base.origin(of: pin) }

  /// Returns the identity of the state that all bytes come from. A reply about another state ends the reading.
  func currentIdentity() throws(SourceError) -> FileIdentity { identity }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
    try read(into: buffer, at: offset, expecting: buffer.count)
  }

  /// Reads as many bytes as there are at `offset`, up to the buffer's size, in as many requests as necessary.
  func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, expecting expected: Int
  ) throws(SourceError) -> Int {
    guard offset >= 0, offset < identity.size else { return 0 }
    let wanted = Int(min(Int64(buffer.count), identity.size - offset))
    var filled = 0
    while filled < wanted {
      let room = UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<wanted])
      // One reader at a time: a worker sends one request after another, and a copy is made in order.
      filled += try progress.withLock { state throws(SourceError) in
        let place = offset + Int64(filled)
        let held = state.cache.copy(from: place, into: room)
        if held > 0 { return held }
        try fetch(at: place, count: room.count, expected: expected - filled, &state)
        return state.cache.copy(from: place, into: room)
      }
    }
    // The copy is complete, and is read in place of this file, so the last piece need not stay in memory.
    if use == .copying, offset + Int64(filled) == identity.size, identity.size > Self.kept {
      progress.withLock { $0.cache = RangeCache(capacity: Self.cached) }
    }
    return filled
  }

  private func fetch(
    at offset: Int64, count: Int, expected: Int, _ state: inout State
  ) throws(SourceError) {
    if use == .copying, offset == state.copied { return try copy(from: offset, &state) }
    var planned = state.ahead.range(
      at: offset, count: count, expected: expected, before: state.cache.next(after: offset))
    // If much will be read, a small gap before it is not worth a request of its own later.
    if expected > count, let held = state.cache.end(before: offset), offset - held <= ReadAhead.gap {
      planned = held..<planned.upperBound
    }
    let left = use == .probing ? limits.bytes - state.transfer.bytes : .max
    guard left > 0 else { throw overBudget }
    let range = planned.lowerBound..<planned.lowerBound + min(left, Int64(planned.count))
    let patience = use == .probing ? limits.patience - state.waited : nil
    let (attempted, waited) = try Self.waiting(within: patience, cancellation) { [fetcher, pin] in
      await fetcher.fetch(range, of: pin)
    }
    state.waited += waited
    try take(attempted, range, &state)
  }

  /// Waits for the next piece, and begins to fetch the one after it.
  private func copy(from offset: Int64, _ state: inout State) throws(SourceError) {
    let range = offset..<min(identity.size, offset + Self.copied)
    let task =
      if let ready = state.prefetched, ready.range == range { ready.task } else { begin(range) }
    state.prefetched = nil
    let (attempted, _) = try Self.waiting(within: nil, cancellation) {
      await withTaskCancellationHandler {
        await task.value
      } onCancel: {
        task.cancel()
      }
    }
    // What has been copied is not read again.
    state.cache = RangeCache(capacity: Self.cached)
    try take(attempted, range, &state)
    state.copied = range.upperBound
    let next = range.upperBound..<min(identity.size, range.upperBound + Self.copied)
    if !next.isEmpty { state.prefetched = Prefetched(range: next, task: begin(next)) }
  }

  private func begin(_ range: Range<Int64>) -> Task<Attempted, Never> {
    Task.detached { [fetcher, pin] in await fetcher.fetch(range, of: pin) }
  }

  private func take(
    _ attempted: Attempted, _ range: Range<Int64>, _ state: inout State
  ) throws(SourceError) {
    state.transfer.requests += attempted.requests
    let fetched = try attempted.result.get()
    state.transfer.bytes += Int64(fetched.bytes.count)
    guard !fetched.bytes.isEmpty else { throw RangeAnswer.changed }
    state.cache.add(fetched.bytes, at: range.lowerBound)
  }

  private var overBudget: SourceError {
    SourceError(
      .readLimit,
      "\(limits.bytes) bytes of it were read (\(setting: .maxRead)), and that is not enough to say what it is; allow more, or "
        + "download it, then give the file")
  }

  /// Blocks until `body` returns. It is cancelled when the flag is set, or when the time is up.
  private static func waiting(
    within patience: Duration?, _ cancellation: CancellationFlag,
    _ body: @escaping @Sendable () async -> Attempted
  ) throws(SourceError) -> (Attempted, Duration) {
    let begin = ContinuousClock.now
    let call = BlockingCall(body)
    let registration = cancellation.onSet { call.cancel() }
    defer { cancellation.clear(registration) }
    let attempted = call.wait(for: patience)
    guard !cancellation.isSet else { throw SourceError(.unreadable, "cancelled before it was read") }
    guard let attempted else {
      throw SourceError(
        .unreadable,
        "the server did not answer in time; try again when it or the network is faster, or allow more time for reading "
          + "(\(setting: .deadline))")
    }
    return (attempted, begin.duration(to: .now))
  }
}

/// Retries after errors that may be temporary, and counts the requests.
struct RetryingFetcher: Sendable {
  let base: any RangeFetcher
  let retries: RetryBudget

  var server: String { base.server }

  func fetch(_ range: Range<Int64>, of pin: FilePin) async -> RemoteFileHandle.Attempted {
    let requests = Mutex(0)
    do throws(UploadError) {
      let result = try await retries.run { () async throws(UploadError) in
        requests.withLock { $0 += 1 }
        return try await base.fetch(range, of: pin)
      }
      return (result, requests.withLock { $0 })
    } catch {
      return (.failure(SourceError(error)), requests.withLock { $0 })
    }
  }
}

extension SourceError {
  /// Turns a store's error into that of a source.
  init(_ error: UploadError) {
    self = error.sourceError ?? SourceError(error.code == .denied ? .denied : .unreadable, error.text)
  }
}

/// The identity of a remote file's state, in place of a local file's inode and times.
enum RemoteIdentity {
  /// Makes the identity from the address and the ETag, or from the time of the last change if there is no ETag.
  static func of(_ address: [UInt8], size: Int64, _ state: RemoteState) -> FileIdentity {
    let (tag, modified) = (state.tag, state.modified)
    var text = address
    text.append(0)
    text += Array((tag.map { "tag " + $0 } ?? "time \(modified ?? "")").utf8)
    let hash = Array(SHA256.hash(data: text))
    let number = { (bytes: ArraySlice<UInt8>) in bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
    // A file about which nothing is known may have changed just now.
    let latest: Double = 9_000_000_000
    let seconds = tag != nil ? 0 : modified.flatMap(HTTPDate.parse)?.timeIntervalSince1970 ?? latest
    let time = Int64(min(max(0, seconds), latest)) * 1_000_000_000
    return FileIdentity(
      device: number(hash[0..<8]), inode: number(hash[8..<16]), size: size, modifiedAt: time, changedAt: time)
  }
}
