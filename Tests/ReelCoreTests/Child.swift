import Glibc

/// A program that runs beside the test, killed with SIGKILL at the latest with this value.
final class Child {
  private let process: pid_t
  private var isRunning = true

  /// Nil if there is no such program.
  init?(_ arguments: String...) {
    var process: pid_t = 0
    let copies = arguments.map { strdup($0) } + [nil]
    let noEnvironment: [UnsafeMutablePointer<CChar>?] = [nil]
    defer { for copy in copies { free(copy) } }
    guard posix_spawnp(&process, arguments[0], nil, nil, copies, noEnvironment) == 0 else { return nil }
    self.process = process
  }

  /// Kills the program and waits for its end.
  func kill() {
    guard isRunning else { return }
    isRunning = false
    var status: Int32 = 0
    Glibc.kill(process, SIGKILL)
    waitpid(process, &status, 0)
  }

  deinit { kill() }
}
