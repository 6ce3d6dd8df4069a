import Glibc

/// The bytes of a file for which the worker has no descriptor: it requests them from its parent, one range at a
/// time.
package struct AskedBytes {
  let channel: WorkerChannel
  package let receipt: Receipt

  /// Reads up to `buffer.count` bytes from `offset` on into `buffer`.
  /// - Parameter expected: How many bytes will be read from there on, as far as is known.
  /// - Returns: The number of bytes, 0 at the end; nil if the parent provides no more.
  package func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, expecting expected: Int
  ) -> Int? {
    var filled = 0
    while filled < buffer.count {
      let request = RangeRequest(
        position: offset + Int64(filled), count: buffer.count - filled, expected: expected - filled)
      guard let bytes = answer(to: request) else { return nil }
      guard bytes.count <= request.count else { return nil }
      UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]).copyBytes(from: bytes)
      filled += bytes.count
      if bytes.count < request.count { break }
    }
    return filled
  }

  private func answer(to request: RangeRequest) -> ArraySlice<UInt8>? {
    guard let question = try? request.encoded(), channel.send(receipt.with(question)),
      case .frame(let frame, nil) = channel.receive(),
      case .bytes(let bytes)? = try? RangeReply(decoding: frame)
    else { return nil }
    return bytes
  }
}
