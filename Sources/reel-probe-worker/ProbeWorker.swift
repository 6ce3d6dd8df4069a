import CSandbox
import Glibc
import ReelModel
import ReelWire

/// The program that reads strangers' files, one at a time, from descriptors that its parent passes to it.
///
/// It takes no arguments and no environment, has one thread, and never starts Swift's concurrency runtime: what
/// it needs of the system is settled before it is confined.
@main
enum ProbeWorker {
  static func main() {
    guard reel_channel_is(reel_worker_channel) == 1 else { explainAndExit() }
    _ = reel_child_die_with_parent()
    reel_confine_prepare()
    let channel = WorkerChannel()
    guard case .frame(let frame, _) = channel.receive(), let start = try? WorkerStart(decoding: frame) else {
      // A parent of another version learns it from the greeting.
      _ = Greeting.send(.none, on: channel)
      exit(WorkerExit.notUnderstood.rawValue)
    }
    switch start.role {
    case .unconfined: work(on: channel, isolation: .none)
    case .confined: work(on: channel, isolation: Confinement.close(start))
    case .nursery: Nursery(channel: channel).run(isolation: Confinement.closeNursery(start))
    }
  }

  private static func work(on channel: WorkerChannel, isolation: IsolationLevel) {
    guard Greeting.send(isolation, on: channel) else { return }
    ReadingLoop(channel: channel).run()
  }

  private static func explainAndExit() -> Never {
    let line =
      "reel-probe-worker reads media files in a confined process; reel starts it by itself, not you by hand\n"
    _ = line.withCString { write(STDERR_FILENO, $0, strlen($0)) }
    exit(WorkerExit.startedByHand.rawValue)
  }
}

/// The worker's exit statuses other than 0.
enum WorkerExit: Int32 {
  case startedByHand = 64
  case notUnderstood = 65
}
