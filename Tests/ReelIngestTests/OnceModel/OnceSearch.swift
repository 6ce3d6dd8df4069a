/// Visits every reachable state and checks the invariants in each.
struct OnceSearch {
  /// A violated invariant, and the path to the state that violates it.
  struct Violation {
    let invariant: Invariant
    let way: [OnceState]
  }

  let faults: Int
  let mistake: Mistake?

  /// Returns the number of states visited, and the first violation.
  func run() -> (states: Int, violation: Violation?) {
    let start = OnceState(faults: faults)
    var queue = [start]
    var origin: [Int] = [-1]
    var seen: Set<OnceState> = [start]
    var next = 0
    while next < queue.count {
      let state = queue[next]
      if let broken = Invariant.allCases.first(where: { !$0.holds(in: state, mistake) }) {
        return (seen.count, Violation(invariant: broken, way: way(to: next, queue, origin)))
      }
      // Two workers that have both lost their leases can take an intent from each other forever.
      if state.rows.contains(where: { $0.attempt > 5 }) {
        next += 1
        continue
      }
      for successor in state.successors(with: mistake) where seen.insert(successor).inserted {
        queue.append(successor)
        origin.append(next)
      }
      next += 1
    }
    return (seen.count, nil)
  }

  private func way(to index: Int, _ queue: [OnceState], _ origin: [Int]) -> [OnceState] {
    var way: [OnceState] = []
    var current = index
    while current >= 0 {
      way.append(queue[current])
      current = origin[current]
    }
    return way.reversed()
  }
}

/// The invariants of docs/publish.md, by name.
enum Invariant: String, CaseIterable {
  case publishedObjectIsWhole
  case onePostForEachPublication
  case everyObjectIsNamedByARow
  case publishedBytesAreNeverOverwritten
  case noEventBeforeItIsTrue
  case publishedPostIsRecorded
  case everyDocumentIsNamedByARow
  case nobodyIsShownWhatIsRemoved
  case aRunComesToItsEnd

  func holds(in state: OnceState, _ mistake: Mistake?) -> Bool {
    switch self {
    case .publishedObjectIsWhole:
      state.posts.allSatisfy { post in
        state.objects[post.key].map { $0.isWhole && !$0.isForeign } ?? false
      }
    case .onePostForEachPublication: state.posts.count <= 1
    case .everyObjectIsNamedByARow:
      state.objects.allSatisfy { $0.value.isForeign || state.row($0.key) != nil }
    case .publishedBytesAreNeverOverwritten:
      state.posts.allSatisfy { post in
        state.objects[post.key].map { $0.writer == post.writer } ?? true
      }
    case .noEventBeforeItIsTrue: state.told == 0 || !state.posts.isEmpty
    case .publishedPostIsRecorded: state.posts.allSatisfy { state.documents.contains($0.key) }
    case .everyDocumentIsNamedByARow: state.documents.allSatisfy { state.row($0) != nil }
    case .nobodyIsShownWhatIsRemoved: !isShownRemoved(state)
    case .aRunComesToItsEnd: isOverOrGoesOn(state, mistake)
    }
  }

  /// Whether the doctor has removed an object whose post is still recorded.
  private func isShownRemoved(_ state: OnceState) -> Bool {
    guard case .withdrawn(let key) = state.doctor else { return false }
    return state.objects[key] == nil && state.documents.contains(key)
  }

  private func isOverOrGoesOn(_ state: OnceState, _ mistake: Mistake?) -> Bool {
    if state.workers.allSatisfy({ $0.step == .ended }) { return state.posts.count == 1 && state.told > 0 }
    return state.doctor != .idle || state.workers.contains { !$0.hasLease }
      || state.workers.indices.contains { !state.step($0, mistake).isEmpty }
      || !state.groupSteps(mistake).isEmpty
  }
}
