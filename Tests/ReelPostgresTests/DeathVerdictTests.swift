import Testing

@testable import ReelPostgres

/// Every combination of facts, compared against the rules of docs/queue.md.
@Suite struct DeathVerdictTests {
  @Test func everyVerdict() {
    var seen: Set<DeathVerdict> = []
    for bits in 0..<32 {
      func bit(_ place: Int) -> Bool { bits >> place & 1 == 1 }
      for deaths in 0...3 {
        let facts = DeathVerdict.Facts(
          wasInHand: bit(0), wasAlone: bit(1), wasServerAway: bit(2), fellSilentTogether: bit(3),
          isInQuestion: bit(4), deaths: deaths)
        let verdict = DeathVerdict.decide(facts, mostDeaths: 3)
        seen.insert(verdict)
        let counts = bit(0) && bit(1) && !bit(2) && (!bit(3) || bit(4))
        #expect((verdict == .counted) == (counts && deaths < 2), "\(facts)")
        #expect((verdict == .setAside) == (counts && deaths >= 2), "\(facts)")
        #expect((verdict == .innocent) == (!bit(0) || bit(2)), "\(facts)")
      }
    }
    #expect(seen == Set(DeathVerdict.allCases))
  }
}
