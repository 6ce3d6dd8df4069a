import FoundationEssentials
import ReelCore

extension FileIdentity {
  /// Whether the file was left alone for 2 seconds before `moment`. Times are only as fine as the kernel's
  /// tick (or a network file system's second): of a file that was changed just now, a further change may
  /// leave no trace.
  public func isSettled(by moment: Date) -> Bool {
    Double(changedAt) / 1e9 <= moment.timeIntervalSince1970 - 2
  }
}
