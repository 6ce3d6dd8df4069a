import CReel
import Glibc

/// A process that has loaded everything a worker needs, reads no file, and forks workers that do.
struct ForkServer<Reader: FileReader> {
  let channel: WorkerChannel
  let handshake: Handshake
  let loop: ReadingLoop<Reader>

  /// - Parameter mends: Whether some of the forked workers write.
  func run(_ start: WorkerStart, mends: Bool) {
    let confinement = Confinement.ofForkServer(start, mends: mends)
    guard handshake.send(confinement.level) else { return }
    var pictures = 0
    while case .frame(let frame, let descriptor?) = channel.receive(),
      let request = try? ForkRequest(decoding: frame)
    {
      if request.purpose == .pictures {
        pictures += 1
        // For a single worker, this would cost more than it saves.
        if pictures == 2 { loop.reader.prepareForPictures() }
      }
      let result = reel_child_fork_sibling()
      if result == 0 { work(on: descriptor, confinement, request) }
      close(descriptor)
      let reply = result > 0 ? ForkReply.forked(result) : .failed(-result)
      guard let frame = try? reply.encoded(), channel.send(frame) else { return }
    }
  }

  /// Runs in the forked worker, whose channel replaces the server's.
  private func work(on descriptor: Int32, _ confinement: Confinement, _ request: ForkRequest) -> Never {
    _ = reel_child_die_with_parent()
    if dup2(descriptor, reel_worker_channel) == reel_worker_channel, close(descriptor) == 0,
      handshake.send(confinement.ofForkedWorker(request).level)
    {
      loop.run()
    }
    _exit(0)
  }
}
