import ReelCore

/// What lies beside it?
enum NeighbourRules {
  static let all = [duplicate, invalid, orphan]

  private static let duplicate = Rule(
    RuleIDs.duplicate, "no other file has the same bytes",
    "Two fixtures with the same bytes test the same thing twice, and one of them is often a mistake. Only files "
      + "of one size are read for it."
  ) { facts in
    switch facts.likeness {
    case .notLookedFor: .notApplicable
    case .unique: .passed
    case .unknown: .unverified("whether another file has the same bytes is unknown")
    case .sameAs(let first):
      .broken(
        "it has the same bytes as \(first.text)", expected: "bytes of its own",
        found: "those of \(first.text)",
        mend: "rm -- FILE")
    }
  }

  private static let invalid = Rule(
    "sidecar.invalid", "the sidecar can be used",
    "clip.json beside clip.mp4 may say caption, music, author and authorName, each a text. What can't be used "
      + "fails its video when it is taken in."
  ) { facts in
    switch facts.sidecar {
    case .none: .notApplicable
    case .valid: .passed
    case .invalid(let sentence): .broken(sentence, expected: "a sidecar that can be used", found: "another")
    }
  }

  private static let orphan = Rule(
    "sidecar.orphan", "the sidecar has a video",
    "A JSON file that says nothing but caption, music, author or authorName, and no video of its name beside it: "
      + "the video was renamed or left out."
  ) { facts in
    guard facts.reading == .orphanSidecar else { return .notApplicable }
    return .broken(
      "it is a sidecar, and there is no video of its name", expected: "a video of the same name beside it",
      found: "none")
  }
}

/// Rules that need more than one look at one file.
package enum RuleIDs {
  /// The only rule that must read bytes: whoever gathers facts looks whether it is on.
  package static let duplicate = "duplicate.exact"
}
