import ReelSystem
import Testing

@Suite struct GroupPaceTests {
  private let start = ContinuousClock.now

  @Test("who is alone never waits")
  func alone() {
    let pace = GroupPace()
    #expect(pace.wait(now: start) == .zero)
    pace.begins(with: 1, now: start)
    #expect(pace.wait(now: start) == .zero)
  }

  @Test("after a group of several the next one begins a moment after it began")
  func several() {
    let pace = GroupPace()
    pace.begins(with: 2, now: start)
    #expect(pace.wait(now: start) == GroupPace.moment)
    #expect(pace.wait(now: start + GroupPace.moment / 2) == GroupPace.moment / 2)
    #expect(pace.wait(now: start + GroupPace.moment * 2) == .zero)
  }

  @Test("a group that nobody joined ends the waiting")
  func over() {
    let pace = GroupPace()
    pace.begins(with: 5, now: start)
    pace.begins(with: 1, now: start)
    #expect(pace.wait(now: start) == .zero)
  }
}
