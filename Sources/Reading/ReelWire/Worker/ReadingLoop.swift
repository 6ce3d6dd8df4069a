import CReel
import Glibc
import ReelCore

/// Reads one file after another until the parent is gone; or makes pictures of one file, or mends it, and ends. It
/// holds the descriptor of one file at a time, and has closed it when it answers. For a remote file it gets no
/// descriptor.
struct ReadingLoop<Reader: FileReader> {
  let channel: WorkerChannel
  let reader: Reader

  func run() {
    var isFresh = true
    while case .frame(let frame, let descriptor) = channel.receive() {
      guard let descriptor else {
        isFresh = false
        guard answer(frame) else { return }
        continue
      }
      if isFresh, let request = try? PictureRequest(decoding: frame) {
        // A worker that has decoded untrusted pictures does nothing else.
        return answer(request, descriptor)
      }
      if isFresh, let request = try? MendRequest(decoding: frame) { return answer(request, descriptor) }
      isFresh = false
      guard let request = try? ReadRequest(decoding: frame) else { return }
      let reply = reader.read(descriptor, request)
      close(descriptor)
      guard let receipt = receipt(), channel.send(receipt.with(Self.frame(of: reply))) else { return }
    }
  }

  /// Reads a file whose bytes must be requested. Returns false if the request is invalid or the parent is gone.
  private func answer(_ frame: [UInt8]) -> Bool {
    guard let request = try? RangedRequest(decoding: frame) else { return false }
    let reply = reader.read(AskedBytes(channel: channel, receipt: request.receipt), request.file)
    return channel.send(request.receipt.with(Self.frame(of: reply)))
  }

  private func answer(_ request: PictureRequest, _ descriptor: Int32) {
    reel_child_use_large_pages()
    let (reply, bytes) = reader.pictures(descriptor, request)
    close(descriptor)
    guard let frame = try? reply.encoded(), channel.send(frame) else { return }
    var rest = bytes[...]
    while !rest.isEmpty {
      guard let piece = try? PictureBytes.encoded(rest.prefix(PictureBytes.largest)), channel.send(piece)
      else {
        return
      }
      rest = rest.dropFirst(PictureBytes.largest)
    }
  }

  private func receipt() -> Receipt? {
    guard case .frame(let frame, let descriptor?) = channel.receive() else { return nil }
    defer { close(descriptor) }
    guard (try? ReceiptRequest(decoding: frame)) != nil else { return nil }
    var bytes = [UInt8](repeating: 0, count: Receipt.length)
    let count = pread(descriptor, &bytes, bytes.count, 0)
    return Receipt(bytes: Array(bytes.prefix(max(0, count))))
  }

  private static func frame(of reply: ReadReply) -> [UInt8] {
    if let frame = try? reply.encoded() { return frame }
    let failure = ProbeError(.implausible, "it has more streams or warnings than an answer can hold")
    return (try? ReadReply.failure(failure).encoded()) ?? []
  }
}
