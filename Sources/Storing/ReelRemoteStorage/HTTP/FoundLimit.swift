import Synchronization

/// A limitation of the way to a server, such as the number of requests that get through at once, or a method that does
/// not. Once found, it holds from then on.
final class FoundLimit: Sendable {
  private let found = Atomic(false)

  var isFound: Bool { found.load(ordering: .relaxed) }

  func find() { found.store(true, ordering: .relaxed) }
}
