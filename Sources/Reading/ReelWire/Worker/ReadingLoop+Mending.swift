import Glibc

extension ReadingLoop {
  /// Answers, and then the process ends: having worked on an untrusted file for this, it does nothing else.
  func answer(_ request: MendRequest, _ descriptor: Int32) {
    var output: Int32?
    if case .mend = request {
      guard case .frame(let frame, let second?) = channel.receive(),
        (try? MendOutputRequest(decoding: frame)) != nil
      else { return }
      output = second
    }
    let reply = reader.mend(descriptor, output: output, request) {
      if let frame = try? MendReply.writing.encoded() { _ = channel.send(frame) }
    }
    close(descriptor)
    if let output { close(output) }
    guard let frame = try? reply.encoded() else { return }
    _ = channel.send(frame)
  }
}
