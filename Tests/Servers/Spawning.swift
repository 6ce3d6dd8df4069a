import Foundation
import Glibc

/// Programs are started one at a time, and what only this process may hold is opened in that turn, too.
///
/// Foundation lists what is open before it starts a child, and closes that in it: what another thread opens in between,
/// a pipe or the socket by which Foundation hears of a child's end, stays open in the child. Then nobody hears of that
/// end before the child's own (swift-corelibs-foundation, `Process.run`).
package enum Spawning {
  private static let turn = NSLock()

  package static func alone<Result>(_ body: () throws -> Result) rethrows -> Result {
    try turn.withLock(body)
  }

  /// Starts `process` with a pipe for its standard input that nobody else holds open.
  /// - Returns: that pipe; a server that reads it ends when its writing end is closed.
  package static func start(_ process: Process) throws -> Pipe {
    try alone {
      let input = Pipe()
      _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
      process.standardInput = input
      try process.run()
      return input
    }
  }
}
