import ReelCore
import ReelCrypto
import ReelStorage
import Synchronization

/// Asks for a range of one file.
protocol RangeFetcher: Sendable {
  /// Who answers, for sentences: without anything secret.
  var server: String { get }

  /// One request.
  /// - Throws: what may pass; what stays is the result.
  func fetch(
    _ range: Range<Int64>, of pin: FilePin
  ) async throws(UploadError) -> Result<FetchedRange, SourceError>

  /// The object that is read, in the state that `pin` tells; nil where there is none.
  func origin(of pin: FilePin) -> ObjectOrigin?
}

extension RangeFetcher {
  func origin(of pin: FilePin) -> ObjectOrigin? { nil }
}

/// How much may be read of a file that lies elsewhere.
package struct RemoteLimits: Hashable, Sendable {
  /// Bytes that may be fetched of a file that is only looked into.
  package var bytes: Int64 = 64 << 20
  /// How long may be waited for these, all requests together.
  package var patience = Duration.seconds(60)

  package init() {}
}

/// A file of a store or a server, read by range. Its state is that of the first reply: each request says which one it is
/// about, and a reply about another is `sourceChanged`.
final class RemoteFileHandle: RemoteHandle {
  private struct State {
    var cache: RangeCache
    var ahead: ReadAhead
    var transfer: SourceTransfer
    var waited: Duration
    /// How far it was read in order.
    var copied: Int64
    /// What is fetched before it is asked for.
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

  /// Bytes of a file that is looked into, which stay.
  private static let cached = 8 << 20
  /// Up to how many bytes a file that was copied stays: one that the sniffer reads as a whole is read again.
  private static let kept = Int64(Sniffer.headLength)
  /// Bytes that are fetched at once of a file that is copied; two such pieces are held.
  private static let copied: Int64 = 4 << 20

  /// Opens a file by its first bytes.
  /// - Parameters:
  ///   - identifier: its address's.
  ///   - listed: what is known of it, by a list.
  ///   - first: how many bytes are fetched for a start.
  static func open(
    _ path: SourcePath, _ identifier: [UInt8], _ fetcher: RetryingFetcher, listed: RemoteFile?, first: Int64,
    for use: RemoteUse, _ limits: RemoteLimits, _ cancellation: CancellationFlag
  ) throws(SourceError) -> SourceFile {
    let known = FilePin(size: listed?.identity.size, state: listed?.state ?? RemoteState())
    // What is on no list is opened while others wait to be found.
    let patience = use == .probing || listed == nil ? limits.patience : nil
    let (attempted, waited) = try waiting(within: patience, cancellation) {
      await fetcher.fetch(0..<max(1, first), of: known)
    }
    let fetched = try attempted.result.get()
    let size = fetched.pin.size ?? Int64(fetched.bytes.count)
    // Where the list told no state, the size alone was known.
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

  /// The one that all bytes are of: a reply about another ends the reading.
  func currentIdentity() throws(SourceError) -> FileIdentity { identity }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
    try read(into: buffer, at: offset, expecting: buffer.count)
  }

  /// As many as there are at `offset`, up to the buffer's size, in as many requests as that takes.
  func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, expecting expected: Int
  ) throws(SourceError) -> Int {
    guard offset >= 0, offset < identity.size else { return 0 }
    let wanted = Int(min(Int64(buffer.count), identity.size - offset))
    var filled = 0
    while filled < wanted {
      let room = UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<wanted])
      // One reader at a time: a worker asks one question after the other, and a copy is made in order.
      filled += try progress.withLock { state throws(SourceError) in
        let place = offset + Int64(filled)
        let held = state.cache.copy(from: place, into: room)
        if held > 0 { return held }
        try fetch(at: place, count: room.count, expected: expected - filled, &state)
        return state.cache.copy(from: place, into: room)
      }
    }
    // A copy is made of it, and read in its place: the last piece need not be held as long as that is.
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
    // Of what will be read as a whole, a little that was skipped is not worth a request of its own.
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

  /// The next piece, and the one behind it meanwhile.
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
    // What was copied is not read again.
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

  /// Blocks for `body`, which is cancelled with the flag, and at the end of the time that there is.
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
        "what was asked for did not come within the time that there is for it; try again when the server or the "
          + "network is faster, or give the reading more time (\(setting: .deadline))")
    }
    return (attempted, begin.duration(to: .now))
  }
}

/// Asks again after what may pass, and counts.
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
  /// What a store says of something that is read from it.
  init(_ error: UploadError) {
    self.init(error.code == .denied ? .denied : .unreadable, error.text)
  }
}

/// What tells a state of a file that lies elsewhere from any other, where a file of this machine has an inode and times.
enum RemoteIdentity {
  /// By its address, and by the ETag where there is one; else by when it was changed last.
  static func of(_ address: [UInt8], size: Int64, _ state: RemoteState) -> FileIdentity {
    let (tag, modified) = (state.tag, state.modified)
    var text = address
    text.append(0)
    text += Array((tag.map { "tag " + $0 } ?? "time \(modified ?? "")").utf8)
    let hash = Array(SHA256.hash(data: text))
    let number = { (bytes: ArraySlice<UInt8>) in bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
    // One that nothing is said of may have changed just now.
    let latest: Double = 9_000_000_000
    let seconds = tag != nil ? 0 : modified.flatMap(HTTPDate.parse)?.timeIntervalSince1970 ?? latest
    let time = Int64(min(max(0, seconds), latest)) * 1_000_000_000
    return FileIdentity(
      device: number(hash[0..<8]), inode: number(hash[8..<16]), size: size, modifiedAt: time, changedAt: time)
  }
}
