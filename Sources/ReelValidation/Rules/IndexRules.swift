import ReelCore

/// Where is the index of an MP4, and of what kind?
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
          "its index stands after its data, so that it can't play before all of it has come",
          expected: "index first", found: "index last",
          mend: "ffmpeg -i FILE -map 0 -c copy -movflags +faststart OUT.\(media.container.fileExtension)")
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
          mend: "ffmpeg -i FILE -map 0 -c copy -movflags +faststart OUT.\(media.container.fileExtension)")
        : .passed
    }
  }
}
