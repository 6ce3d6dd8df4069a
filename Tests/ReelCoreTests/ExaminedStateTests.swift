import ReelCore
import Testing

/// The table of an object row's states, for every catalog.
@Suite struct ExaminedStateTests {
  private typealias State = ExaminedObject.State

  private static let videos: [(isPublished: Bool, isGivenUp: Bool, alive: Bool?, state: State)] = [
    (true, false, nil, .published), (true, false, true, .published),
    (false, true, nil, .givenUp), (false, true, true, .givenUp),
    (false, false, nil, .waiting), (false, false, false, .abandoned), (false, false, true, .held),
  ]

  private static let posters:
    [(poster: State.Poster, isPublished: Bool, isGivenUp: Bool, alive: Bool?, state: State)] = [
      (.shown, true, false, nil, .published), (.shown, true, false, true, .published),
      // Before its post exists, it shares the state of the intent.
      (.named, false, false, nil, .held), (.named, false, false, false, .held),
      // Its post shows another poster, or the poster is being added to an existing post.
      (.named, true, false, nil, .unneeded), (.named, true, false, false, .unneeded),
      (.named, true, false, true, .held), (.named, false, true, nil, .unneeded),
      (.givenUp, true, false, nil, .unneeded), (.givenUp, false, false, nil, .unneeded),
      (.givenUp, false, true, false, .unneeded),
    ]

  @Test func ofVideos() {
    for row in Self.videos {
      let state = State(
        isPublished: row.isPublished, isGivenUp: row.isGivenUp, isChanging: false, isRemovedStored: nil,
        poster: nil,
        isOwnerAlive: row.alive)
      #expect(state == row.state, "\(row)")
    }
  }

  @Test func ofPosters() {
    for row in Self.posters {
      let state = State(
        isPublished: row.isPublished, isGivenUp: row.isGivenUp, isChanging: false, isRemovedStored: nil,
        poster: row.poster,
        isOwnerAlive: row.alive)
      #expect(state == row.state, "\(row)")
    }
  }

  @Test func ofRemovedPosts() {
    for poster in [nil, .named, .shown] as [State.Poster?] {
      for isStored in [false, true] {
        for isChanging in [false, true] {
          let state = State(
            isPublished: true, isGivenUp: false, isChanging: isChanging, isRemovedStored: isStored,
            poster: poster,
            isOwnerAlive: nil)
          #expect(state == (isChanging ? .changing : isStored ? .kept : .removed))
        }
      }
    }
  }
}
