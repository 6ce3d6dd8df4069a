import ReelCore
import ReelWire

/// Provides a worker with the bytes that it requests, within what reading a file may need. Otherwise a compromised
/// worker could make its parent fetch a whole bucket.
struct RangeService {
  /// Why bytes were unavailable; none are provided after that.
  private(set) var failure: SourceError?
  private let handle: any SourceHandle
  private let remote: (any RemoteHandle)?
  private let size: Int64
  private let mostBytes: Int64
  /// The number of requests left. FFmpeg reads in pieces of 32 KiB, and structures are read in small ones: no
  /// honest worker needs more requests than this for a file.
  private var questions = 1 << 20
  private var bytes: Int64 = 0

  init(_ handle: any SourceHandle, size: Int64, _ limits: ProbeLimits) {
    self.handle = handle
    remote = handle as? any RemoteHandle
    self.size = size
    mostBytes = limits.bytes
  }

  /// Reads the requested bytes. Blocks. Nil for a request that no honest worker makes: one that begins beyond the
  /// end of the file, or exceeds a limit.
  mutating func reply(to request: RangeRequest) -> RangeReply? {
    guard request.position < size, questions > 0, failure == nil else { return nil }
    let count = Int(min(Int64(request.count), size - request.position))
    questions -= 1
    bytes += Int64(count)
    guard bytes <= mostBytes else { return nil }
    do throws(SourceError) {
      return .bytes(try read(count, at: request.position, expecting: request.expected)[...])
    } catch {
      failure = error
      return .failure
    }
  }

  private func read(_ count: Int, at offset: Int64, expecting expected: Int) throws(SourceError) -> [UInt8] {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
    defer { buffer.deallocate() }
    var filled = 0
    while filled < count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
      let got =
        if let remote {
          try remote.read(into: rest, at: offset + Int64(filled), expecting: expected - filled)
        } else { try handle.read(into: rest, at: offset + Int64(filled)) }
      if got == 0 { break }
      filled += got
    }
    return [UInt8](buffer.prefix(filled))
  }
}
