import Foundation
import Glibc

/// Starts programs one at a time. What only this process may hold open is opened in the same turn, too.
///
/// Before it starts a child, Foundation lists the open descriptors, and closes these in the child. A descriptor that
/// another thread opens in between, such as a pipe or the socket by which Foundation learns of a child's end, stays
/// open in the child. Then its end is not noticed before the child's own (swift-corelibs-foundation, `Process.run`).
package enum Spawning {
  private static let turn = NSLock()

  package static func alone<Result>(_ body: () throws -> Result) rethrows -> Result {
    try turn.withLock(body)
  }

  /// Starts `process` with a pipe for its standard input that no other process holds open.
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
