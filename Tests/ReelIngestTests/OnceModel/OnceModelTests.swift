import Foundation
import ReelIngest
import ReelTestSupport
import Testing

/// The steps of docs/publish.md as a state space small enough for an exhaustive search.
@Suite("The model of publishing once")
struct OnceModelTests {
  @Test("every invariant holds, whatever fails and in whatever order")
  func everyState() {
    let (states, violation) = OnceSearch(faults: TestForm.isLong ? 3 : 2, mistake: nil).run()
    print("the model of publishing once has \(states) states")
    #expect(states > 10_000, "the search visited too few states")
    #expect(violation == nil, "\(told(violation))")
  }

  private static let mistakes: [(Mistake, Set<Invariant>)] = [
    (.keyNotRecordedFirst, [.everyObjectIsNamedByARow]),
    (.noVerification, [.publishedObjectIsWhole]),
    (.cleaningUpByAge, [.publishedObjectIsWhole]),
    (.claimNotAtomic, [.onePostForEachPublication]),
    (
      .completionWithoutFence,
      [.onePostForEachPublication, .publishedObjectIsWhole, .publishedPostIsRecorded]
    ),
    (.folderNotSynced, [.publishedObjectIsWhole]),
    (.objectsOverwritten, [.publishedBytesAreNeverOverwritten]),
    (.toldBeforeCommit, [.noEventBeforeItIsTrue]),
    (.foundObjectIsTrusted, [.publishedObjectIsWhole]),
    (.foundObjectIsNotSynced, [.publishedObjectIsWhole]),
    (.removedBeforeGivenUp, [.publishedObjectIsWhole, .publishedPostIsRecorded]),
    (.neverTakenOver, [.aRunComesToItsEnd]),
    (.eventForgotten, [.aRunComesToItsEnd]),
    (.neverRecorded, [.publishedPostIsRecorded]),
    (.removedBeforeWithdrawn, [.nobodyIsShownWhatIsRemoved]),
    (.toldBeforeTheGroupIsSynced, [.publishedObjectIsWhole]),
    (.joinsASyncThatIsRunning, [.publishedObjectIsWhole]),
  ]

  @Test(
    "a mistake is detected",
    arguments: Self.mistakes)
  func notices(mistake: Mistake, by invariants: Set<Invariant>) {
    let violation = (0...2).lazy.compactMap { OnceSearch(faults: $0, mistake: mistake).run().violation }.first
    #expect(violation.map { invariants.contains($0.invariant) } == true, "\(told(violation))")
  }

  @Test("the list contains every mistake")
  func noMistakeIsLeftOut() {
    #expect(Set(Self.mistakes.map(\.0)) == Set(Mistake.allCases))
  }

  @Test("the model has the same steps as the code, from the policy on", arguments: IntakeStep.allCases)
  func names(step: IntakeStep) {
    let before: Set<IntakeStep> = [.opened, .hashed, .mended, .probed]
    #expect(before.contains(step) != (OnceState.Step(rawValue: step.rawValue) != nil))
  }

  private func told(_ violation: OnceSearch.Violation?) -> String {
    guard let violation else { return "no invariant was violated" }
    let way = violation.way.map { state in
      state.workers.map { "\($0.owner):\($0.step.rawValue)" }.joined(separator: " ")
        + " rows \(state.rows.map { "\($0.key) \($0.state) \($0.attempt)" }) objects \(state.objects.keys.sorted())"
        + " posts \(state.posts.count) events \(state.told)"
    }
    return "\(violation.invariant.rawValue) is violated after:\n" + way.joined(separator: "\n")
  }
}
