import ReelCore

/// Is it there, and whole?
enum FileRules {
  static let all = [unreadable, empty, lfsPointer, truncated, external]

  private static let unreadable = Rule(
    "file.unreadable", "the file can be read",
    "A file that cannot be opened or read is not the fixture that it stands for. Give it back its permissions, "
      + "or put a file in place of the link, pipe or device."
  ) { facts in
    switch facts.reading {
    case .unreachable(let error): breach(error.message, mend: error.code == .denied ? "chmod u+r FILE" : nil)
    case .unreadable(let error) where error.code == .unreadable: breach(error.message, mend: nil)
    default: .passed
    }
  }

  private static func breach(_ sentence: String, mend: String?) -> RuleOutcome {
    .broken(sentence, expected: "a regular file that can be read", found: "none", mend: mend)
  }

  private static let empty = Rule(
    "file.empty", "the file has bytes",
    "An empty file is what a failed download or an interrupted copy leaves behind. Get it again."
  ) { facts in
    guard facts.problem?.code == .empty else { return .passed }
    return .broken(
      "it has no bytes; get it again, whole", expected: "a video", found: "0 bytes",
      mend: "git checkout -- FILE")
  }

  private static let lfsPointer = Rule(
    "file.lfsPointer", "the file itself is there, not a Git LFS pointer",
    "A clone without Git LFS holds small text files in place of the real ones, and tests that skip what they "
      + "can't read stay green. Install Git LFS, or have the CI job check it out (actions/checkout: lfs: true)."
  ) { facts in
    guard facts.problem?.code == .lfsPointer else { return .passed }
    return .broken(
      "it is a Git LFS pointer, not the video itself; fetch what it points to", expected: "the video itself",
      found: "a Git LFS pointer", mend: "git lfs pull --include FILE")
  }

  private static let truncated = Rule(
    "file.truncated", "the file is whole",
    "A file that was cut off may still open and play its beginning. Its own index tells: it points beyond the "
      + "end of the file. No tool can bring back what is missing; get it again."
  ) { facts in
    if let problem = facts.problem {
      return problem.code == .truncated ? cut(problem.message) : .passed
    }
    guard facts.media?.truncated == true else { return .passed }
    return cut("it was cut off: part of its data is missing; get it again, whole")
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

  private static func cut(_ sentence: String) -> RuleOutcome {
    .broken(sentence, expected: "all of its data", found: "a part")
  }
}
