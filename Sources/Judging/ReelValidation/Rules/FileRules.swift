import ReelCore

/// Rules about the file itself: that it is there, and complete.
enum FileRules {
  static let all = [unreadable, empty, lfsPointer, truncated, external]

  private static let unreadable = Rule(
    "file.unreadable", "the file can be read",
    "A file that cannot be opened or read is not the fixture that it stands for. Give it back its permissions, "
      + "or put a file in place of the link, pipe or device."
  ) { facts in
    switch facts.reading {
    case .unreachable(let error):
      violation(error.message, fix: facts.lacksOnlyItsMode ? .command("chmod u+r FILE") : nil)
    case .unreadable(let error) where error.code == .unreadable: violation(error.message, fix: nil)
    default: .passed
    }
  }

  private static func violation(_ sentence: String, fix: Fix?) -> RuleOutcome {
    .broken(sentence, expected: "a regular file that can be read", found: "none", fix: fix)
  }

  private static let empty = Rule(
    "file.empty", "the file has bytes",
    "An empty file is what a failed download or an interrupted copy leaves behind. Get it again."
  ) { facts in
    guard facts.problem?.code == .empty else { return .passed }
    let committed = facts.git?.committed
    let isCommitted = committed == noBytes
    return .broken(
      "it has no bytes; get a complete copy" + (isCommitted ? GitCommand.committed(facts.path) : ""),
      expected: "a video", found: "0 bytes",
      fix: isCommitted || committed == nil ? nil : .ready(GitCommand.restoring(facts.path)))
  }

  private static let noBytes = ContentDigest(
    hex: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")

  private static let lfsPointer = Rule(
    RuleIDs.lfsPointer, "the file itself is there, not a Git LFS pointer",
    "A clone without Git LFS holds small text files in place of the real ones, and tests that skip what they "
      + "can't read stay green. Install Git LFS and `git lfs pull`, or have the CI job check it out (actions/checkout: "
      + "lfs: true)."
  ) { facts in
    guard facts.problem?.code == .lfsPointer else { return .passed }
    return .broken(
      "it is a Git LFS pointer: the video itself is not fetched", expected: "the video itself",
      found: "a Git LFS pointer",
      fix: facts.git?.lfsPlace.map { .ready(GitCommand.fetching(facts.path, at: $0)) })
  }

  private static let truncated = Rule(
    "file.truncated", "the file is whole",
    "A file that was cut off may still open and play its beginning. Its own index tells: it points beyond the "
      + "end of the file. No tool can bring back what is missing; get it again, or keep what is there."
  ) { facts in
    if let problem = facts.problem {
      return problem.code == .truncated ? cut(problem.message) : .passed
    }
    guard let media = facts.media, media.truncated == true else { return .passed }
    return cut(
      "it was cut off: part of its data is missing; get a complete copy",
      fix: media.isISO || media.isMatroska ? .mend(.salvage) : nil)
  }

  private static let external = Rule(
    "media.external", "the file holds its pictures and its sound itself",
    "A QuickTime movie or an MP4 may point at other files that hold its samples: a reference movie, as editors save "
      + "it beside their media. Without those files there is nothing to show. Export it as a self-contained movie."
  ) { facts in
    let isExternal = facts.problem?.code == .externalMedia || facts.media?.external == true
    guard isExternal else { return .passed }
    return .broken(
      ProbeError.externalMedia.message, expected: "pictures and sound in the file itself",
      found: "references to other files")
  }

  private static func cut(_ sentence: String, fix: Fix? = nil) -> RuleOutcome {
    .broken(sentence, expected: "all of its data", found: "a part", fix: fix)
  }
}

/// Rules about the files beside it.
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
        fix: .command("mv -n -- FILE FILE.duplicate"))
    case .isFile(let first):
      // Moving either name would change both.
      .broken(
        "it is \(first.text) under another name", expected: "bytes of its own",
        found: "those of \(first.text)")
    }
  }

  private static let invalid = Rule(
    "sidecar.invalid", "the sidecar can be used",
    "clip.json beside clip.mp4 may say caption, music, author and authorName, each a text. What can't be used "
      + "fails its video when it is ingested."
  ) { facts in
    switch facts.sidecar {
    case .none: .notApplicable
    case .valid: .passed
    case .invalid(let sentence): .broken(sentence, expected: "a sidecar that can be used", found: "another")
    }
  }

  private static let orphan = Rule(
    RuleIDs.orphan, "the sidecar has a video",
    "A JSON file that says nothing but caption, music, author or authorName, and no video of its name beside it: "
      + "the video was renamed or left out."
  ) { facts in
    guard facts.reading == .orphanSidecar else { return .notApplicable }
    return .broken(
      "it is a sidecar, and there is no video of its name", expected: "a video of the same name beside it",
      found: "none")
  }
}

/// IDs of rules to which other code refers.
package enum RuleIDs {
  package static let lfsPointer = "file.lfsPointer"
  /// Applies to a file that is not a video, but counts as a file of the run.
  package static let orphan = "sidecar.orphan"
  /// The only rule for which bytes have to be read: the code that gathers facts checks whether it is on.
  package static let duplicate = "duplicate.exact"
  /// Broken by a name that no command can correct.
  static let name = "name.unsafe"
}

/// Rules about what the file discloses, and about its name.
enum PrivacyRules {
  static let all = [location, name, credentialsPresent, credentialsMissing]

  private static let location = Rule(
    "privacy.location", "the file does not tell where it was recorded",
    "Phones write the place of a recording into the file, and whoever gets the file gets the place. Reel never "
      + "shows the place itself."
  ) { facts in
    guard let media = facts.media else { return .notApplicable }
    return .judging(media.hasLocation, unknown: "whether it says where it was recorded") { tells in
      guard tells else { return .passed }
      // `reel mend` does not remove a place that is displayed.
      let isShown = facts.rewriting.isPlaceInText || facts.rewriting.isPlaceInPictures
      return .broken(
        "it says where it was recorded", expected: "no location", found: "a location",
        fix: media.isISO && !isShown
          ? .mend(.location) : .convert(Conversion { $0.dropsMetadata = true }))
    }
  }

  private static let credentialsPresent = Rule.media(
    "credentials.present", "the file carries no Content Credentials",
    "A C2PA manifest names who made a file, with what, and sometimes where. It holds only as long as no byte of the file "
      + "changes, so that whatever is mended or encoded anew must drop it."
  ) { media in
    .judging(media.contentCredentials, unknown: "whether it carries Content Credentials") { carries in
      carries
        ? .broken(
          "it carries Content Credentials", expected: "no Content Credentials", found: "a C2PA manifest",
          fix: media.isISO || media.isMatroska ? .mend(.credentials) : nil)
        : .passed
    }
  }

  private static let credentialsMissing = Rule.media(
    "credentials.missing", "the file carries Content Credentials",
    "For those who publish only what says where it comes from. Whether the C2PA manifest is true is not looked at: a "
      + "validator of C2PA tells. A file that lost it can only be had anew from whoever made it."
  ) { media in
    .judging(media.contentCredentials, unknown: "whether it carries Content Credentials") { carries in
      carries
        ? .passed
        : .broken(
          "it carries no Content Credentials; get the file as it was made", expected: "a C2PA manifest",
          found: "none", fix: nil)
    }
  }

  private static let name = Rule(
    RuleIDs.name, "every system takes the name, and no program takes it for an option",
    "It is not empty, begins with no dash and no space, ends with no space or dot, is UTF-8, and has no control "
      + "characters and none of < > : \" \\ | ? * (Windows refuses those). Spaces within it and other characters that a shell or a URL wants quoted are no flaw. Rename "
      + "the file."
  ) { facts in
    guard let flaw = NameFlaw.flaw(of: facts.path.lastComponent) else { return .passed }
    return .broken(
      "its name \(flaw)", expected: "a name that is safe everywhere", found: facts.path.lastComponent.text,
      fix: nil)
  }
}

extension FixtureFacts {
  package var isSafelyNamed: Bool { NameFlaw.flaw(of: path.lastComponent) == nil }
}

/// The flaws that make a name unsafe.
enum NameFlaw {
  /// Characters that Windows does not allow in names (Microsoft, "Naming Files, Paths, and Namespaces").
  private static let refused: Set<Unicode.Scalar> = ["<", ">", ":", "\"", "\\", "|", "?", "*"]

  /// Returns what is wrong, as a continuation of "its name"; nil if nothing is.
  static func flaw(of name: SourcePath) -> String? {
    guard name.isUTF8 else { return "is not UTF-8" }
    let scalars = Array(name.text.unicodeScalars)
    if scalars.first == "-" { return "begins with a dash, which programs take for an option" }
    if scalars.first == " " || scalars.last == " " { return "begins or ends with a space" }
    if scalars.last == "." { return "ends with a dot" }
    if scalars.contains(where: isInvisible) { return "has characters that cannot be seen" }
    if let first = scalars.first(where: { refused.contains($0) }) {
      return "has \(first), which not every system allows"
    }
    return nil
  }

  private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: true
    case .format: scalar.value != 0x200D && scalar.value != 0x200C
    default: false
    }
  }
}
