import Glibc

/// A deadline for tests that do not test deadlines: a busy machine may stall for a while.
let patience = Duration.seconds(600)

/// Whether a process has ended. A process that outlives its parent's patience is never reaped and remains as a zombie.
func hasEnded(_ process: pid_t) -> Bool {
  kill(process, 0) == -1 || isZombie(process)
}

private func isZombie(_ process: pid_t) -> Bool {
  let descriptor = open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { return false }
  defer { close(descriptor) }
  var bytes = [UInt8](repeating: 0, count: 512)
  let count = read(descriptor, &bytes, bytes.count)
  // The name in parentheses may contain any byte: the state follows the last closing one.
  let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  return text.split(separator: ")").last?.hasPrefix(" Z") ?? false
}
