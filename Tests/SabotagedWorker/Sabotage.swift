import CEscapes
import Glibc

/// Ways for a reader to misbehave.
enum Sabotage {
  static func perform(_ order: String) {
    switch order {
    case "abort": abort()
    case "segmentation-fault": UnsafeMutablePointer<UInt8>(bitPattern: 16)?.pointee = 1
    case "exit": _exit(3)
    case "hang": while true { sched_yield() }
    case "sleep": sleep()
    case "deaf": spinDeaf()
    case "work": work()
    case "close": hangUp()
    case "garbage": speak([UInt8](repeating: 0xAB, count: 100))
    case "nothing": speak([])
    case "too-much": speak([UInt8](repeating: 0x52, count: 150_000))
    case "endless":
      while true { speak([UInt8](repeating: 0x52, count: 1000)) }
    case "send-descriptor": speak([UInt8](repeating: 0, count: 10), descriptor: 0)
    default: break
    }
  }

  /// Never returns, like a hang, but takes no processor time: only a deadline or a signal ends it.
  private static func sleep() {
    var never = sem_t()
    sem_init(&never, 0, 0)
    while true { sem_wait(&never) }
  }

  /// Waits a few milliseconds, by a system call that a worker may make.
  static func pause() {
    var never = sem_t()
    sem_init(&never, 0, 0)
    var end = timespec()
    clock_gettime(CLOCK_REALTIME, &end)
    end.tv_nsec += 5_000_000
    if end.tv_nsec >= 1_000_000_000 {
      (end.tv_sec, end.tv_nsec) = (end.tv_sec + 1, end.tv_nsec - 1_000_000_000)
    }
    sem_timedwait(&never, &end)
  }

  /// Spins while it blocks all signals, including the one that says that its time is over.
  private static func spinDeaf() {
    var all = sigset_t()
    sigfillset(&all)
    sigprocmask(SIG_BLOCK, &all, nil)
    while true { sched_yield() }
  }

  /// Takes 0.7 s of processor time.
  private static func work() {
    let end = seconds() + 0.7
    while seconds() < end { sched_yield() }
  }

  private static func seconds() -> Double {
    var used = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used)
    return Double(used.tv_sec) + Double(used.tv_nsec) / 1e9
  }

  private static func hangUp() {
    close(3)
    while true { sched_yield() }
  }

  private static func speak(_ bytes: [UInt8], descriptor: Int32 = -1) {
    // While other processes of this user have many descriptors in flight, the kernel accepts no more.
    while bytes.withUnsafeBytes({ reel_speak($0.baseAddress, $0.count, descriptor) }) == -ETOOMANYREFS {
      pause()
    }
  }
}
