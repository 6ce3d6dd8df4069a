import Foundation
import ReelTestSupport
import Testing

/// The tests of docs/fleet.md, "How it is proved".
@Suite struct FleetTests {
  /// `REEL_ROUNDS` sets the number of seeds, and `REEL_SEED` the first one.
  @Test(.shortTime) func whateverHappensToAFleetItKeepsItsLaws() {
    let first = TestSeed.drawn()
    let rounds = ProcessInfo.processInfo.environment["REEL_ROUNDS"].flatMap { Int($0) }
    let count = rounds ?? (TestForm.isLong ? 200_000 : 300)
    let start = ContinuousClock.now
    var steps = 0
    for seed in 0..<UInt64(count) {
      var simulation = FleetSimulation(seed: first &+ seed)
      if simulation.run() != nil {
        Issue.record("\(Self.story(of: first &+ seed))")
        return
      }
      steps += simulation.steps
    }
    print("\(count) fleets from seed \(first), \(steps) steps, in \(ContinuousClock.now - start)")
  }

  /// The laws that detect each mistake, and a seed with which they do.
  private static let mistakes: [(mistake: FleetMistake, laws: Set<FleetSimulation.Law>, seed: UInt64)] = [
    (.finishedWithoutTheTakingsNumber, [.onlyWhoHasTakenItEndsIt], 21),
    (.finishedByAnybody, [.onlyWhoHasTakenItEndsIt], 21),
    (
      .finishedWhateverItsState, [.onlyWhoHasTakenItEndsIt, .failuresAreCountedOnce, .endingsAreCountedOnce],
      16
    ),
    (.takenWithoutAWorker, [.whatIsTakenHasAWorker], 33),
    (.takenAndNotLookedFor, [.whatIsInQuestionIsAlone, .everythingEnds, .aDeathCountsOnlyAlone], 40),
    (.knownByTheirItemsAlone, [.everythingEnds, .whatIsInQuestionIsAlone], 710),
    (.takenFromOthers, [.nobodyTakesFromTheLiving], 0),
    (
      .takenByALateStatement,
      [.whatIsInQuestionIsAlone, .everythingEnds, .whoWaitsIsTold, .aDeathCountsOnlyAlone], 1413
    ),
    (.writtenDownByALateStatement, [.whatIsTakenHasAWorker], 75),
    (.writtenDownTwiceAtOnce, [.whatIsTakenHasAWorker], 11707),
    (
      .writtenDownWithoutItsOwner,
      [.nobodyTakesFromTheLiving, .onlyTheDeadAreStruckOut, .aDeathCountsOnlyAlone], 80
    ),
    (.completedWithoutFence, [.aVideoIsOnePost], 26),
    (.takenOverFromTheLiving, [.nobodyTakesFromTheLiving], 33),
    (.neverTakenOver, [.everythingEnds], 7),
    (.memoryKeepsWhatWasLost, [.nothingIsHeldByWhoLostIt], 33),
    (.leaseByTheJudgesClock, [.onlyTheDeadAreStruckOut], 0),
    (.leaseNeverOver, [.everythingEnds], 0),
    (.leaseShorterThanABeat, [.onlyTheDeadAreStruckOut, .nobodyTakesFromTheLiving], 0),
    (.leaseOfTheCopyAlone, [.onlyTheDeadAreStruckOut, .nobodyTakesFromTheLiving], 0),
    (.renewalRevivesTheDead, [.endingsAreCountedOnce], 101),
    (.struckOutWithItsItems, [.whatIsTakenHasAWorker], 3),
    (.retiredWithItsItems, [.whatIsTakenHasAWorker], 6),
    (.dueNeverFreed, [.everythingEnds, .noItemKillsForEver], 0),
    (
      .attemptsNotCounted,
      [.everythingEnds, .whatIsInQuestionIsAlone, .aDeathCountsOnlyAlone, .onlyWhoHasTakenItEndsIt], 242
    ),
    (.deathCountedInCompany, [.aDeathCountsOnlyAlone], 3),
    (.deathCountedWhereOnlyHeld, [.aDeathCountsOnlyAlone], 3),
    (.handsKeepWhatHasEnded, [.aDeathCountsOnlyAlone], 21301),
    (.deathCountedInAnOutage, [.aDeathCountsOnlyAlone], 53),
    (.deathCountedByWhoWasCutOff, [.aDeathCountsOnlyAlone], 12),
    (.deathsTogetherCounted, [.aDeathCountsOnlyAlone], 6),
    (.deathNeverCounted, [.noItemKillsForEver], 3),
    (.setAsideTooEarly, [.setAsideAfterThreeDeaths], 3),
    (.neverSetAside, [.setAsideAfterThreeDeaths], 3),
    (.takenInCompany, [.whatIsInQuestionIsAlone], 3),
    (.neverTakenAlone, [.everythingEnds], 3),
    (.failuresNotCounted, [.failuresAreCountedOnce], 0),
    (.puttingOffCounted, [.failuresAreCountedOnce], 1),
    (.oneFailureTooMany, [.failuresAreCountedOnce], 0),
    (.pauseDoesNotGrow, [.retriesAreSpacedOut], 0),
    (.endingsCountedAsTheyAreSaid, [.endingsAreCountedOnce], 0),
    (.reasonNotWrittenWithTheItem, [.theReasonIsThere], 0),
    (.reasonOfWhoLostTheItem, [.theReasonIsThere], 602),
    (.doneBeforeItIsAPost, [.doneIsAPost], 0),
    (.newItemsUntold, [.whoWaitsIsTold, .aDeathCountsOnlyAlone], 0),
    (.freedItemsUntold, [.whoWaitsIsTold], 0),
    (.nonsenseTakesTheWord, [.whoWaitsIsTold], 0),
  ]

  @Test(.shortTime, arguments: Self.mistakes)
  func notices(mistake: FleetMistake, by laws: Set<FleetSimulation.Law>, with seed: UInt64) {
    for seed in [seed] + Array(0..<(TestForm.isLong ? 100_000 : 1_000)) {
      var simulation = FleetSimulation(seed: seed, mistake: mistake)
      guard let violation = simulation.run() else { continue }
      #expect(laws.contains(violation.law), "\(Self.story(of: seed, mistake))")
      return
    }
    Issue.record("nobody notices \(mistake)")
  }

  @Test func everyMistakeStandsInTheListAndInTheDocumentation() throws {
    #expect(Set(Self.mistakes.map(\.mistake)) == Set(FleetMistake.allCases))
    let page = try String(contentsOf: Checkout.root.appending(path: "docs/fleet.md"), encoding: .utf8)
    let told = Set(page.matches(of: /`(\w+)`/).map { String($0.1) })
    #expect(Set(FleetMistake.allCases.map(\.rawValue)).subtracting(told).isEmpty)
    #expect(Set(FleetSimulation.Law.allCases.map(\.rawValue)).subtracting(told).isEmpty)
    // Every law is broken by at least one mistake.
    #expect(Self.mistakes.reduce(into: []) { $0.formUnion($1.laws) } == Set(FleetSimulation.Law.allCases))
  }

  @Test func aSeedDoesTheSameAgain() {
    for seed in 0..<UInt64(20) {
      #expect(Self.story(of: seed) == Self.story(of: seed))
    }
  }

  private static func story(of seed: UInt64, _ mistake: FleetMistake? = nil) -> String {
    var simulation = FleetSimulation(seed: seed, mistake: mistake, isTold: true)
    let violation = simulation.run()
    return "seed \(seed)\(mistake.map { ", \($0)" } ?? ""):\n" + simulation.story.joined(separator: "\n")
      + (violation.map { "\n\($0.law.rawValue): \($0.text)" } ?? "")
  }
}
