import Glibc
import HTTPTypes
import ReelCore
import ReelStorage
import Synchronization

/// A file on a server that sends it only as a whole. The first read fetches all of it into an unnamed file, which
/// exists as long as this handle.
final class WholeFileHandle: RemoteHandle {
  private struct State {
    var copy: (any StagedFile)?
    var transfer: SourceTransfer
  }
  private let address: WebAddress
  private let transport: any HTTPTransport
  private let retries: RetryBudget
  private let pin: FilePin
  private let identity: FileIdentity
  private let staging: any StagingArea
  private let cancellation: CancellationFlag
  private let progress: Mutex<State>

  /// - Parameter requests: the number of requests sent to examine the file.
  init(
    _ address: WebAddress, transport: any HTTPTransport, retries: RetryBudget,
    pin: FilePin, identity: FileIdentity, requests: Int, in staging: any StagingArea,
    _ cancellation: CancellationFlag
  ) {
    self.retries = retries
    self.staging = staging
    (self.address, self.transport, self.pin, self.identity) = (address, transport, pin, identity)
    self.cancellation = cancellation
    progress = Mutex(State(copy: nil, transfer: SourceTransfer(requests: requests)))
  }

  var descriptor: Int32? { nil }

  var transfer: SourceTransfer { progress.withLock { $0.transfer } }

  var state: RemoteState { pin.state }

  func currentIdentity() throws(SourceError) -> FileIdentity { identity }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
    try read(into: buffer, at: offset, expecting: buffer.count)
  }

  func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, expecting expected: Int
  ) throws(SourceError) -> Int {
    try progress.withLock { state throws(SourceError) in
      if state.copy == nil { state.copy = try fetch(&state.transfer) }
      guard let copy = state.copy else { return 0 }
      return try rethrowing(
        as: { SourceError(.unreadable, "its copy could not be read (\($0))") }
      ) { () throws(SystemError) in try readFully(copy.descriptor, into: buffer, at: offset) }
    }
  }

  /// The bytes received so far.
  private struct Received: Sendable {
    let file: any StagedFile
    var count: Int64 = 0
    var failure: SystemError?

    mutating func add(_ piece: UnsafeRawBufferPointer) {
      let start = count
      count += Int64(piece.count)
      guard failure == nil else { return }
      do throws(SystemError) {
        try writeFully(file.descriptor, piece, at: start)
      } catch {
        failure = error
      }
    }
  }

  private func fetch(_ transfer: inout SourceTransfer) throws(SourceError) -> any StagedFile {
    let file = try rethrowing(as: SourceError.init) { () throws(UploadError) in
      try staging.makeFile(upTo: identity.size)
    }
    let requests = Mutex(0)
    let call = BlockingCall { [self] () async -> Result<Reply?, UploadError> in
      do throws(UploadError) {
        return .success(
          try await retries.run { () async throws(UploadError) in
            requests.withLock { $0 += 1 }
            return try await receive(Received(file: file))
          })
      } catch {
        return .failure(error)
      }
    }
    let registration = cancellation.onSet { call.cancel() }
    defer { cancellation.clear(registration) }
    let outcome = call.wait()
    transfer.requests += requests.withLock { $0 }
    guard let outcome, !cancellation.isSet else {
      throw SourceError(.unreadable, "cancelled before it was read")
    }
    guard let (reply, received) = try outcome.mapError(SourceError.init).get() else {
      throw RangeAnswer.changed
    }
    transfer.bytes += received.count
    if let failure = received.failure {
      throw SourceError(file.failure(failure.code, "write a copy of it"))
    }
    try RangeAnswer(range: 0..<max(1, identity.size), pin: pin, server: address.origin.description)
      .check(whole: reply, size: received.count)
    try rethrowing(as: SourceError.init) { () throws(UploadError) in try file.seal() }
    return file
  }

  private typealias Reply = (reply: HTTPReply, value: Received)

  /// Sends one request; nil if more arrives than the file's size.
  private func receive(_ received: Received) async throws(UploadError) -> Reply? {
    let server = address.origin.description
    var call = HTTPCall(.get, address.origin, address.target, fields: pin.conditions)
    call.patience = .seconds(120 + identity.size / (16 << 10))
    // A body without a stated length may never end.
    call.fetchLimit = Int(identity.size)
    let reply: Reply
    do throws(HTTPFailure) {
      reply = try await transport.fetch(call, into: received) { $0.add($1) }
    } catch {
      if error == .replyTooLarge(limit: call.fetchLimit) { return nil }
      throw error.ofSource(server)
    }
    try reply.reply.checkAvailable(server)
    return reply
  }
}
