import ReelModel
import Synchronization

/// What a dry run would have published so far: the second of two equal files would be a duplicate.
final class DryRunLedger: Sendable {
  private let planned = Mutex(Set<Publication>())

  /// Whether nobody has planned this publication before; it is planned from now on.
  func isFirst(_ publication: Publication) -> Bool {
    planned.withLock { $0.insert(publication).inserted }
  }
}
