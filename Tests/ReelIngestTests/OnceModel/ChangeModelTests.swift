import ReelCore
import ReelTestSupport
import Testing

/// The steps of docs/remove.md as state spaces small enough for an exhaustive search: two processes that change one
/// post, and one that publishes its video.
@Suite("The model of changing posts")
struct ChangeModelTests {
  private static let removals: [ChangeState.Removal?] = [
    nil, .init(keeps: true), .init(keeps: false, isStored: false),
  ]

  /// The states in which the searches begin.
  private static func starts(faults: Int) -> [ChangeState] {
    let asks = ChangeState.Ask.allCases
    return asks.indices.flatMap { first in
      asks[first...].flatMap { second in
        [nil, false, true].flatMap { again in
          removals.map { removal in
            ChangeState([asks[first], second], publishing: again, faults: faults, removed: removal)
          }
        }
      }
    }
  }

  @Test("every invariant holds, whatever fails and in whatever order")
  func everyState() {
    var states = 0
    for start in Self.starts(faults: TestForm.isLong ? 2 : 1) {
      let (count, violation) = ChangeSearch(mistake: nil).run(from: start)
      states += count
      #expect(violation == nil, "\(told(violation))")
      if violation != nil { break }
    }
    print("the model of changing posts has \(states) states")
    #expect(states > 10_000, "the search visited too few states")
  }

  private static let mistakes: [(ChangeMistake, Set<ChangeInvariant>)] = [
    (.objectGoesBeforeThePostLeaves, [.feedHasItsObjects]),
    (.restoredBeforeItIsProved, [.feedHasItsObjects]),
    (.struckOutBeforeTold, [.whatIsSoIsTold]),
    (.toldBeforeItIsSo, [.nothingIsToldBeforeItIsSo]),
    (.clearedBeforeItHasMoved, [.feedHasItsObjects]),
    (.movedBeforeTheCopyIsProved, [.feedHasItsObjects]),
    (.copiesStayWhenItIsUndone, [.everyObjectIsNamedByARow]),
    (.removedIsNotLookedFor, [.nothingComesBack]),
    (.movedIsNotLookedFor, [.nothingComesBack]),
    (.removalIsNotSynced, [.nothingIsLeft, .everyObjectIsNamedByARow]),
    (.neverCarriedOn, [.aRunComesToItsEnd, .nothingIsLeft]),
    (.goesOnWithoutALook, [.feedHasItsObjects, .nothingIsToldBeforeItIsSo]),
    (.finishedWithoutAFence, [.feedHasItsObjects, .nothingComesBack, .nothingIsLeft]),
    (.purgesWhatIsBack, [.feedHasItsObjects]),
    (.restoredBesideAnother, [.onePostForEachPublication]),
    (.copiedBeforeItIsWrittenDown, [.everyObjectIsNamedByARow]),
  ]

  @Test(
    "a mistake is detected",
    arguments: Self.mistakes)
  func notices(mistake: ChangeMistake, by invariants: Set<ChangeInvariant>) {
    let violation = (0...2).lazy.flatMap { faults in Self.starts(faults: faults) }.lazy.compactMap {
      start in
      ChangeSearch(mistake: mistake).run(from: start).violation
    }.first
    #expect(violation.map { invariants.contains($0.invariant) } == true, "\(told(violation))")
  }

  @Test("the list contains every mistake")
  func noMistakeIsLeftOut() { #expect(Set(Self.mistakes.map(\.0)) == Set(ChangeMistake.allCases)) }

  private func told(_ violation: ChangeSearch.Violation?) -> String {
    guard let violation else { return "no invariant was violated" }
    let way = violation.way.map { state in
      state.changers.map { "\($0.owner):\($0.ask) \($0.step)\($0.hasLease ? "" : " without its lease")" }
        .joined(separator: ", ")
        + "; \(state.place) \(state.post.store) open \(state.open.map { "\($0)" } ?? "none")"
        + " objects \(state.objects.map { "\($0.key) \($0.store)" }.sorted()) unsent \(state.owed)"
        + " publisher \(state.publisher.map { "\($0.step)" } ?? "none")"
    }
    return "\(violation.invariant.rawValue) is violated after:\n" + way.joined(separator: "\n")
  }
}

/// The invariants of a post that is changed.
enum ChangeInvariant: String, CaseIterable {
  case feedHasItsObjects
  case everyObjectIsNamedByARow
  case onePostForEachPublication
  case nothingComesBack
  case nothingIsToldBeforeItIsSo
  case whatIsSoIsTold
  case nothingIsLeft
  case aRunComesToItsEnd

  func holds(in state: ChangeState, _ mistake: ChangeMistake?) -> Bool {
    let own = ChangeState.Object(key: state.post.key, store: state.post.store)
    switch self {
    case .feedHasItsObjects:
      return (state.removal != nil || state.objects.contains(own) && !state.damaged.contains(own))
        && (state.second == nil || state.objects.contains(ChangeState.Object(key: 2, store: .here)))
    case .everyObjectIsNamedByARow:
      return state.objects.allSatisfy { object in
        object.key == 2
          ? state.second != nil || state.intent != nil
          : object.store == state.post.store || object.store == state.open?.other
      }
    case .onePostForEachPublication:
      return state.removal != nil || state.second?.store != state.post.store
    case .nothingComesBack:
      return !state.cameBack && (state.removal != nil || state.mayReturn != false)
    case .nothingIsToldBeforeItIsSo: return !state.toldWhatIsNotSo
    case .whatIsSoIsTold: return state.open != nil || state.owed.isEmpty
    case .nothingIsLeft:
      guard state.isOver else { return true }
      return state.open == nil
        && state.objects.allSatisfy {
          $0.key == 2 || $0 == own && (state.removal?.isStored ?? true)
        }
    case .aRunComesToItsEnd:
      return state.isOver || state.changers.contains { !$0.hasLease }
        || !state.successors(with: mistake).isEmpty
    }
  }
}

extension ChangeState {
  fileprivate var isOver: Bool {
    changers.allSatisfy { $0.step == .ended } && publisher.map { $0.step == .ended } ?? true
  }
}

/// Visits every reachable state and checks the invariants in each.
struct ChangeSearch {
  struct Violation {
    let invariant: ChangeInvariant
    let way: [ChangeState]
  }

  let mistake: ChangeMistake?

  func run(from start: ChangeState) -> (states: Int, violation: Violation?) {
    var (queue, origin, seen) = ([start], [-1], Set([start]))
    var next = 0
    while next < queue.count {
      let state = queue[next]
      if let broken = ChangeInvariant.allCases.first(where: { !$0.holds(in: state, mistake) }) {
        return (seen.count, Violation(invariant: broken, way: way(to: next, queue, origin)))
      }
      for successor in state.successors(with: mistake) where seen.insert(successor).inserted {
        queue.append(successor)
        origin.append(next)
      }
      next += 1
    }
    return (seen.count, nil)
  }

  private func way(to index: Int, _ queue: [ChangeState], _ origin: [Int]) -> [ChangeState] {
    var (way, current) = ([ChangeState](), index)
    while current >= 0 {
      way.append(queue[current])
      current = origin[current]
    }
    return way.reversed()
  }
}
