import Synchronization

/// A limit of the way to a server, such as how many requests get through at once, or by which methods: found out once, it
/// holds from then on.
final class FoundLimit: Sendable {
  private let found = Atomic(false)

  var isFound: Bool { found.load(ordering: .relaxed) }

  func find() { found.store(true, ordering: .relaxed) }
}
