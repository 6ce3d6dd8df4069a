import Glibc
import HTTPTypes
import ReelCore
import ReelStorage
import Synchronization

/// A file on a server that gives it as a whole only: with the first reading all of it is fetched into a file without a
/// name, which goes with this.
final class WholeFileHandle: RemoteHandle {
  private struct State {
    var copy: (any StagedFile)?
    var transfer: SourceTransfer
  }
  private let address: WebAddress
  private let transport: any HTTPTransport
  private let pin: FilePin
  private let identity: FileIdentity
  private let staging: any StagingArea
  private let cancellation: CancellationFlag
  private let progress: Mutex<State>

  /// - Parameter requests: that were sent to find out what it is.
  init(
    _ address: WebAddress, transport: any HTTPTransport, pin: FilePin, identity: FileIdentity, requests: Int,
    in staging: any StagingArea, _ cancellation: CancellationFlag
  ) {
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
      var filled = 0
      while filled < buffer.count {
        let count = pread(
          copy.descriptor, buffer.baseAddress?.advanced(by: filled), buffer.count - filled,
          off_t(offset) + off_t(filled))
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else {
          throw SourceError(.unreadable, "its copy could not be read (\(SystemError.last("pread")))")
        }
        if count == 0 { break }
        filled += count
      }
      return filled
    }
  }

  /// Bytes as they come.
  private struct Received: Sendable {
    let file: any StagedFile
    let size: Int64
    var count: Int64 = 0
    var failure: SystemError?

    mutating func add(_ piece: UnsafeRawBufferPointer) {
      let start = count
      count += Int64(piece.count)
      guard failure == nil, count <= size else { return }
      var done = 0
      while done < piece.count {
        let written = pwrite(
          file.descriptor, piece.baseAddress?.advanced(by: done), piece.count - done,
          off_t(start) + off_t(done))
        if written < 0, errno == EINTR { continue }
        guard written >= 0 else {
          failure = SystemError.last("pwrite")
          return
        }
        done += written
      }
    }
  }

  private func fetch(_ transfer: inout SourceTransfer) throws(SourceError) -> any StagedFile {
    let file: any StagedFile
    do throws(UploadError) {
      file = try staging.makeFile()
    } catch {
      throw SourceError(error)
    }
    transfer.requests += 1
    let call = BlockingCall { [address, transport, pin, identity] in
      await Self.fetch(address, transport, pin, Received(file: file, size: identity.size))
    }
    let registration = cancellation.onSet { call.cancel() }
    defer { cancellation.clear(registration) }
    guard let outcome = call.wait(), !cancellation.isSet else {
      throw SourceError(.unreadable, "cancelled before it was read")
    }
    let received = try outcome.get()
    transfer.bytes += received.count
    if let failure = received.failure {
      throw SourceError(file.failure(failure.code, "write a copy of it"))
    }
    guard received.count == identity.size else { throw RangeAnswer.changed }
    do throws(UploadError) {
      try file.seal()
    } catch {
      throw SourceError(error)
    }
    return file
  }

  private static func fetch(
    _ address: WebAddress, _ transport: any HTTPTransport, _ pin: FilePin, _ received: Received
  ) async -> Result<Received, SourceError> {
    var call = HTTPCall(.get, address.origin, address.target)
    call.fields[.acceptEncoding] = "identity"
    call.patience = .seconds(120 + received.size / (16 << 10))
    do throws(HTTPFailure) {
      let (reply, value) = try await transport.fetch(call, into: received) { $0.add($1) }
      guard reply.isSuccess else {
        return .failure(
          SourceError(.unreadable, "\(address.origin) does not give it (status \(reply.status.code))"))
      }
      if let tag = pin.state.tag, let found = reply.fields[.eTag], tag != found {
        return .failure(RangeAnswer.changed)
      }
      return .success(value)
    } catch {
      return .failure(SourceError(error.ofSource(address.origin.description)))
    }
  }
}
