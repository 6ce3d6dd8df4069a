import Glibc
import ReelModel
import ReelWire

/// Reads one file after the other until the parent is gone. It holds one file's descriptor at a time.
struct ReadingLoop<Reader: FileReader> {
  let channel: WorkerChannel
  let reader: Reader

  func run() {
    while case .frame(let frame, let descriptor?) = channel.receive() {
      guard let request = try? ReadRequest(decoding: frame) else { return }
      let reply = reader.read(descriptor, request)
      close(descriptor)
      guard channel.send(Self.frame(of: reply)) else { return }
    }
  }

  private static func frame(of reply: ReadReply) -> [UInt8] {
    if let frame = try? reply.encoded() { return frame }
    let failure = ProbeError(.implausible, "it has more streams or warnings than an answer can hold")
    return (try? ReadReply.failure(failure).encoded()) ?? []
  }
}
