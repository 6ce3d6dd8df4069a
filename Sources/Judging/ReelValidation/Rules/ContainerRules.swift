import ReelCore

/// Rules about the container: whether the file is what its name says, and can be ingested.
enum ContainerRules {
  static let all = [unrecognised, disguised, unsupported, corrupt, allowed, mismatch]

  private static let unrecognised = Rule(
    "container.unrecognised", "the bytes are those of a known container",
    "Nothing in the file's first bytes says that it is a video. Leave it out with --exclude, or put the video in "
      + "its place."
  ) { facts in
    guard let problem = facts.problem, isNoVideo(problem), !claimsVideo(facts) || problem.found == nil else {
      return .passed
    }
    return other(than: "a known container", problem)
  }

  private static let disguised = Rule(
    "container.disguised", "the file is not something else under a video's name",
    "Its name says video, its bytes say text, picture, sound, archive or playlist. A playlist is dangerous: "
      + "players follow it to other files. Often it is the error page that came instead of a download. Get the video "
      + "itself, give the file the name of what it is, or leave it out with --exclude."
  ) { facts in
    guard let problem = facts.problem, claimsVideo(facts),
      isNoVideo(problem) && problem.found != nil
        || problem.code == .unsupported && !isHonest(facts, problem)
    else { return .passed }
    return other(than: "the video that its name claims", problem)
  }

  private static let unsupported = Rule(
    "container.unsupported", "the container is one that Reel reads",
    "It is media, but not in a container that Reel reads: a raw stream, sound alone, or a rare format. A raw stream is "
      + "re-encoded: if it were only copied into a container, frames without timestamps would be lost. Leave out what is "
      + "meant to be like this with --exclude, or lock it."
  ) { facts in
    guard let problem = facts.problem, problem.code == .unsupported else { return .passed }
    guard !claimsVideo(facts) || isHonest(facts, problem) else { return .passed }
    let isRaw = facts.path.claimedExtension.map { VideoNames.raw.contains($0) } ?? false
    return other(than: "one of " + names(MediaContainer.allCases), problem, fix: isRaw ? .wrap : nil)
  }

  private static let corrupt = Rule(
    "container.corrupt", "the container keeps its own rules",
    "It begins like a container, and what follows breaks that container's rules, so that no reader opens it. Get "
      + "it again, or try to rescue what can be read."
  ) { facts in
    guard let problem = facts.problem, problem.code == .corrupt else { return .passed }
    return .broken(
      problem.message, expected: "a container that opens", found: problem.found ?? "a broken one")
  }

  private static let allowed = Rule.media(
    "container.allowed", "the container is one of those allowed",
    .list("a container like mp4, or a list of them", ["mp4", "mov", "webm"], pattern: pattern) {
      MediaContainer(rawValue: $0)
    },
    "Players and services accept some containers only. Changing the container needs no encoding when the codecs "
      + "fit."
  ) { (media: MediaInfo, allowed: [MediaContainer], _) in
    guard !allowed.contains(media.container) else { return .passed }
    return .broken(
      "its container is \(media.container.rawValue)", expected: names(allowed),
      found: media.container.rawValue, fix: .convert(Conversion(.container)))
  }

  private static let mismatch = Rule(
    "ext.mismatch", "the name's extension is honest",
    "Its name claims one container, its bytes are another. Programs that go by the name take the wrong path. "
      + "Rename it."
  ) { facts in
    guard let media = facts.media, let claimed = facts.path.claimedExtension else { return .notApplicable }
    guard media.container.contradicts(claimedExtension: claimed) else { return .passed }
    let real = media.container.fileExtension
    return .broken(
      "its name says .\(claimed), but it is \(real)", expected: ".\(real)", found: ".\(claimed)",
      fix: .rename)
  }

  // MARK: Helpers

  private static let pattern = "^(" + MediaContainer.allCases.map(\.rawValue).joined(separator: "|") + ")$"

  private static func names(_ containers: [MediaContainer]) -> String {
    containers.map(\.rawValue).joined(separator: ", ")
  }

  private static func isNoVideo(_ problem: ProbeError) -> Bool {
    problem.code == .notMedia || problem.code == .playlist
  }

  private static func claimsVideo(_ facts: FixtureFacts) -> Bool {
    facts.path.claimedExtension.map { VideoNames.extensions.contains($0) } ?? false
  }

  /// A raw stream under its own extension is no disguise, but a picture with a container's extension is.
  private static func isHonest(_ facts: FixtureFacts, _ problem: ProbeError) -> Bool {
    guard let claimed = facts.path.claimedExtension else { return true }
    return VideoNames.raw.contains(claimed) || VideoNames.soundInContainers.contains(claimed)
  }

  private static func other(
    than expected: String, _ problem: ProbeError, fix: Fix? = nil
  ) -> RuleOutcome {
    .broken(problem.message, expected: expected, found: problem.found ?? "something else", fix: fix)
  }
}

/// Rules about the index of an MP4: where it is, and of what kind.
enum IndexRules {
  static let all = [noMoov, notFastStart, fragmented]

  private static let noMoov = Rule(
    "mp4.noMoov", "an MP4 has its index (moov)",
    "The index is written last. A recorder that was killed, or a download that was cut off, leaves an MP4 "
      + "without it, which no player opens. With a good file of the same camera a tool such as untrunc may "
      + "rebuild it; a stream's segment needs its first segment before it."
  ) { facts in
    guard let problem = facts.problem, problem.code == .indexMissing else { return .passed }
    return .broken(problem.message, expected: "an index (moov)", found: "none")
  }

  private static let notFastStart = Rule.media(
    "mp4.notFastStart", "the index stands before the data",
    "With the index at the end a player must fetch all of the file, or jump about in it, before the first "
      + "picture. Moving it to the front needs no encoding."
  ) { media in
    guard media.isISO, media.fragmented != true else { return .notApplicable }
    return .judging(media.fastStart, unknown: "where its index stands") { first in
      first
        ? .passed
        : .broken(
          "its index stands after its data, so that it can't play before it has been downloaded completely",
          expected: "index first", found: "index last",
          fix: .mend(.faststart))
    }
  }

  private static let fragmented = Rule.media(
    "mp4.fragmented", "an MP4 is not made of fragments",
    "Fragments are made for streaming; many editors and upload forms do not read them, or read the first one "
      + "only."
  ) { media in
    guard media.isISO else { return .notApplicable }
    return .judging(media.fragmented, unknown: "whether it is made of fragments") { fragmented in
      fragmented
        ? .broken(
          "it is made of fragments", expected: "one index for all of it", found: "movie fragments",
          fix: .mend(.unfragment))
        : .passed
    }
  }
}
