import CReel
import Glibc
import ReelCore

/// A warm process that has read no stranger's byte, and starts a fresh one for each file.
struct Nursery<Reader: FileReader> {
  let channel: WorkerChannel
  let greeting: Greeting
  let loop: ReadingLoop<Reader>

  func run(_ start: WorkerStart) {
    guard greeting.send(Confinement.closeNursery(start)) else { return }
    while case .frame(let frame, let descriptor?) = channel.receive(),
      (try? BirthRequest(decoding: frame)) != nil
    {
      var sister = reel_child()
      switch reel_child_fork_sister(&sister) {
      case 1: live(on: descriptor)
      case 0:
        close(descriptor)
        let isAnnounced = announce(sister)
        close(sister.descriptor)
        guard isAnnounced else { return }
      default: return
      }
    }
  }

  /// The fresh process: its channel takes the place of the nursery's.
  private func live(on descriptor: Int32) -> Never {
    _ = reel_child_die_with_parent()
    if dup2(descriptor, reel_worker_channel) == reel_worker_channel, close(descriptor) == 0,
      Confinement.closeSister(), greeting.send(.strict)
    {
      loop.run()
    }
    _exit(0)
  }

  private func announce(_ sister: reel_child) -> Bool {
    guard let frame = try? BirthNotice(process: sister.pid).encoded() else { return false }
    return channel.send(frame, descriptor: sister.descriptor)
  }
}
