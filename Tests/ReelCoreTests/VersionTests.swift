import Testing

@testable import ReelCore

/// `scripts/check-scripts` tests that `commit` is git's, because it makes commits.
@Suite struct VersionTests {
  @Test(arguments: [
    ("0.3.0-dev", "5aefb46f2c1d9e0b7a6f5e4d3c2b1a0987654321", "0.3.0-dev+5aefb46f2c1d"),
    ("0.3.0-dev", nil, "0.3.0-dev"), ("0.3.0", "5aefb46f2c1d9e0b7a6f5e4d3c2b1a0987654321", "0.3.0"),
    ("0.3.0", nil, "0.3.0"),
  ])
  func namesTheCommitBetweenReleases(_ number: String, _ commit: String?, _ name: String) {
    #expect(ReelVersion.name(number, commit) == name)
  }

  @Test func isWhatItIsMadeOf() {
    #expect(ReelVersion.current == ReelVersion.name(ReelVersion.number, ReelVersion.commit))
  }
}
