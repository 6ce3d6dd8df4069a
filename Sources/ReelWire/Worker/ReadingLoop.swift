import Glibc
import ReelCore

/// Reads one file after the other until the parent is gone. It holds one file's descriptor at a time, and has given it
/// back when it answers.
struct ReadingLoop<Reader: FileReader> {
  let channel: WorkerChannel
  let reader: Reader

  func run() {
    while case .frame(let frame, let descriptor?) = channel.receive() {
      guard let request = try? ReadRequest(decoding: frame) else { return }
      let reply = reader.read(descriptor, request)
      close(descriptor)
      guard let receipt = receipt(), channel.send(receipt.with(Self.frame(of: reply))) else { return }
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
