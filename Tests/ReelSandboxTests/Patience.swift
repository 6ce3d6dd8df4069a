import Glibc

/// A deadline where none is what is tested: a machine that has much to do may stand still for a while.
let patience = Duration.seconds(600)

/// Whether `condition` comes to hold; the limit only catches what hangs.
func eventually(_ condition: () -> Bool) async throws -> Bool {
  let end = ContinuousClock.now + .seconds(600)
  while !condition() {
    guard ContinuousClock.now < end else { return false }
    try await Task.sleep(for: .milliseconds(10))
  }
  return true
}

/// Whether a process has ended. One that took longer for it than its parent has patience is collected by nobody, and
/// stays behind as a zombie.
func hasEnded(_ process: pid_t) -> Bool {
  kill(process, 0) == -1 || isZombie(process)
}

private func isZombie(_ process: pid_t) -> Bool {
  let descriptor = open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { return false }
  defer { close(descriptor) }
  var bytes = [UInt8](repeating: 0, count: 512)
  let count = read(descriptor, &bytes, bytes.count)
  // Its name stands in parentheses and may hold any byte: its state follows the last of them.
  let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  return text.split(separator: ")").last?.hasPrefix(" Z") ?? false
}
