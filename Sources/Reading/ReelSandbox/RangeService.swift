import ReelCore
import ReelWire

/// Gives a worker the bytes that it asks for, as long as it asks for what the reading of a file may need. A worker that
/// was taken over could otherwise have its parent fetch all of a bucket.
struct RangeService {
  /// Why bytes could not be had; nothing is given from then on.
  private(set) var failure: SourceError?
  private let handle: any SourceHandle
  private let remote: (any RemoteHandle)?
  private let size: Int64
  private let mostBytes: Int64
  /// FFmpeg reads in pieces of 32 KiB, and structures are read in small ones: a file that takes more questions than this is
  /// not read by an honest worker.
  private var questions = 1 << 20
  private var bytes: Int64 = 0

  init(_ handle: any SourceHandle, size: Int64, _ limits: ProbeLimits) {
    self.handle = handle
    remote = handle as? any RemoteHandle
    self.size = size
    mostBytes = limits.bytes
  }

  /// Blocks for the bytes. Nil for a question that no honest worker asks: it begins behind the file, or is one too many.
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
