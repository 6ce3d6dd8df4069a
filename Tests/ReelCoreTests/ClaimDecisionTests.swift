import ReelCore
import Testing

/// The whole decision table: what a catalog may know, and the answer to a claim.
@Suite struct ClaimDecisionTests {
  private enum Answer: Hashable {
    case published, removed, held, nameTaken, begin
    case takeOver(Int)
  }

  private struct Known {
    var isPublished = false
    var isRemoved = false
    var own: [IntentHolding] = []
    var related: [IntentHolding] = []
    var posterNameIsTaken = false
    var nameIsTaken = false
  }

  private func answer(_ duplicates: DuplicateHandling, _ known: Known, again: Bool = false) -> Answer {
    // Own intents are numbered from 0, related ones from 100.
    let decision = ClaimDecision<String, String, Int>.decide(
      duplicates, again: again, published: known.isPublished ? "post" : nil,
      removed: known.isRemoved ? "post" : nil, own: Array(known.own.indices),
      related: known.related.indices.map { $0 + 100 },
      holding: { $0 < 100 ? known.own[$0] : known.related[$0 - 100] },
      posterNameIsTaken: known.posterNameIsTaken, nameIsTaken: known.nameIsTaken)
    return switch decision {
    case .published: .published
    case .removed: .removed
    case .held: .held
    case .nameTaken: .nameTaken
    case .begin: .begin
    case .takeOver(let place): .takeOver(place)
    }
  }

  @Test func whoeverWantsNoSecondPostIsToldOfTheFirst() {
    for own in Self.holdings {
      for names in [false, true] {
        let known = Known(
          isPublished: true, own: own, related: [.held], posterNameIsTaken: names, nameIsTaken: names)
        #expect(answer(.skip, known) == .published)
      }
    }
  }

  @Test func whatWasRemovedComesBackOnlyWhenSomebodySaysSo() {
    for own in Self.holdings {
      let known = Known(isRemoved: true, own: own)
      for duplicates in DuplicateHandling.allCases {
        #expect(answer(duplicates, known) == .removed)
        #expect(answer(duplicates, known, again: true) == answer(duplicates, Known(own: own)))
      }
      // There is another post of the video, elsewhere or published since the removal.
      #expect(answer(.skip, Known(isPublished: true, isRemoved: true, own: own)) == .published)
    }
  }

  @Test func nobodyPublishesBesideOneThatIsAlive() {
    for own in Self.holdings {
      for related in Self.holdings where (own + related).contains(.held) {
        #expect(answer(.skip, Known(own: own, related: related, posterNameIsTaken: true)) == .held)
      }
    }
  }

  @Test func theOldestFreeIntentGoesOn() {
    #expect(answer(.skip, Known(own: [.free, .free])) == .takeOver(0))
    #expect(answer(.allow, Known(isPublished: true, own: [.held, .free])) == .takeOver(1))
    // It keeps its own name, whatever name was drawn.
    #expect(answer(.skip, Known(own: [.free], nameIsTaken: true)) == .takeOver(0))
    // An intent for the mended form of the file is not what is claimed.
    #expect(answer(.skip, Known(related: [.free])) == .begin)
  }

  @Test func aSecondPostBeginsBesideWhatIsHeld() {
    #expect(answer(.allow, Known(isPublished: true)) == .begin)
    #expect(answer(.allow, Known(own: [.held, .held], related: [.held])) == .begin)
  }

  @Test func noNameIsGivenTwice() {
    #expect(answer(.skip, Known(nameIsTaken: true)) == .nameTaken)
    #expect(answer(.allow, Known(own: [.held], nameIsTaken: true)) == .nameTaken)
    for own in Self.holdings where !own.contains(.held) {
      #expect(answer(.skip, Known(own: own, posterNameIsTaken: true)) == .nameTaken)
    }
  }

  @Test func oneHoldsWhatItHasAndWhatTheLivingHave() {
    let living: (Int) -> Bool = { $0 == 7 }
    #expect(IntentHolding(owner: nil, claimant: 1, isAlive: living) == .free)
    #expect(IntentHolding(owner: 1, claimant: 1, isAlive: living) == .held)
    #expect(IntentHolding(owner: 7, claimant: 1, isAlive: living) == .held)
    #expect(IntentHolding(owner: 8, claimant: 1, isAlive: living) == .free)
  }

  private static let holdings: [[IntentHolding]] = [
    [], [.free], [.held], [.free, .free], [.free, .held], [.held, .free], [.held, .held],
  ]
}
