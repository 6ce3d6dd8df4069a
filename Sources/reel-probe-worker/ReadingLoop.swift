import Glibc
import ReelModel
import ReelProbe
import ReelWire

/// Reads one file after the other until the parent is gone. It holds one file's descriptor at a time.
struct ReadingLoop {
  let channel: WorkerChannel

  func run() {
    while case .frame(let frame, let descriptor?) = channel.receive() {
      guard let request = try? ReadRequest(decoding: frame) else { return }
      let reply = answer(request, descriptor)
      close(descriptor)
      guard channel.send(reply) else { return }
    }
  }

  private func answer(_ request: ReadRequest, _ descriptor: Int32) -> [UInt8] {
    do throws(WireError) {
      return try read(request, descriptor).encoded()
    } catch {
      let failure = ProbeError(.implausible, "it has more streams or warnings than an answer can hold")
      return (try? ReadReply.failure(failure).encoded()) ?? []
    }
  }

  private func read(_ request: ReadRequest, _ descriptor: Int32) -> ReadReply {
    let limits = ReadingLimits(bytes: request.byteBudget, seconds: Double(request.milliseconds) / 1000)
    do throws(ProbeError) {
      let reading = try FFmpegReader(limits: limits)
        .read(descriptor: descriptor, size: request.size, container: request.container)
      return .facts(reading.media, reading.method)
    } catch {
      return .failure(error)
    }
  }
}
