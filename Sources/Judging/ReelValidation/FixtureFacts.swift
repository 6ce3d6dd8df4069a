import ReelCore

/// Everything that is known of one file before it is judged. A value: whoever gathers it does the reading.
package struct FixtureFacts: Hashable, Sendable {
  /// As it is reported; patterns of a policy are about ``patternPath``.
  package var path: SourcePath
  /// The path from the folder that the user named, or the name alone of a file that was named itself.
  package var patternPath: SourcePath
  /// Size in bytes; nil when the file could not be reached.
  package var size: Int64?
  /// Nil when nothing asked for it.
  package var digest: ContentDigest?
  /// Which file it is, whatever it is called; nil for one that lies elsewhere.
  package var identity: FileIdentity?
  /// Whether its owner, who runs this, has only to be given the right to read it.
  package var lacksOnlyItsMode = false
  /// Whether it lies at an address, where no command of this machine changes it.
  package var isRemote = false
  /// Nil outside of a work tree, and where nothing asked.
  package var git: GitFacts?
  /// The file that it stands for, where it is a Git LFS pointer.
  package var pointsTo: ContentDigest?
  /// What was tried, and can't be had of it without loss.
  package var unmendable: Set<Mend> = []
  package var reading: FixtureReading
  package var sidecar: SidecarStatus
  package var likeness: Likeness

  package init(
    path: SourcePath, patternPath: SourcePath? = nil, size: Int64? = nil, digest: ContentDigest? = nil,
    reading: FixtureReading, sidecar: SidecarStatus = .none, likeness: Likeness = .notLookedFor
  ) {
    self.path = path
    self.patternPath = patternPath ?? path
    self.size = size
    self.digest = digest
    self.reading = reading
    self.sidecar = sidecar
    self.likeness = likeness
  }

  /// The facts, where it could be read.
  package var media: MediaInfo? {
    if case .media(let report) = reading { report.media } else { nil }
  }

  /// For commands that write it anew.
  package var rewriting: RewritingFacts {
    if case .media(let report) = reading { report.rewriting } else { RewritingFacts() }
  }

  /// Why the reader gave no facts, where it could not.
  package var problem: ProbeError? {
    if case .unreadable(let error) = reading { error } else { nil }
  }
}

/// What Git has of a file in a work tree.
package struct GitFacts: Hashable, Sendable {
  /// Of the file in the last commit, or of the one that a Git LFS pointer there stands for; nil where there is none.
  package var committed: ContentDigest?
  /// Its path from the root of the work tree, where Git LFS keeps it.
  package var lfsPlace: SourcePath?

  package init(committed: ContentDigest? = nil, lfsPlace: SourcePath? = nil) {
    (self.committed, self.lfsPlace) = (committed, lfsPlace)
  }
}

package enum FixtureReading: Hashable, Sendable {
  case media(ProbeReport)
  /// It was opened, and is not media or could not be read as such.
  case unreadable(ProbeError)
  case unreachable(SourceError)
  /// It is not a video but a sidecar without one.
  case orphanSidecar
}

/// What lies beside a video to tell more about it.
package enum SidecarStatus: Hashable, Sendable {
  case none
  case valid
  /// The sentence says why.
  case invalid(String)
}

/// Whether another file of the run has the same bytes.
package enum Likeness: Hashable, Sendable {
  /// No rule asked.
  case notLookedFor
  case unique
  /// The first in order of the files with the same bytes.
  case sameAs(SourcePath)
  /// It is that very file, under another name: a link.
  case isFile(SourcePath)
  /// The bytes could not be read.
  case unknown
}

extension ProbeError.Code {
  /// Whether this says that Reel could not do its work, rather than that the file is not what it should be.
  package var leavesFileUnjudged: Bool {
    switch self {
    case .timeout, .crashed, .memoryLimit, .sandboxViolation, .implausible, .sourceChanged, .workerMissing,
      .workerBroken, .isolationUnavailable, .cancelled, .tooManyOpenFiles, .noReader, .readLimit:
      true
    case .notMedia, .playlist, .unsupported, .truncated, .indexMissing, .corrupt, .unreadable, .empty,
      .lfsPointer, .externalMedia:
      false
    }
  }
}

/// The extensions by which a name claims to be a video, whether Reel takes it in or not.
package enum VideoNames {
  /// Lower case, without the dot.
  package static let extensions = MediaContainer.claimableExtensions.union(raw)

  /// Streams without a container, and containers that are not taken in.
  static let raw: Set<String> = [
    "264", "h264", "avc", "265", "h265", "hevc", "266", "h266", "vvc", "h263", "ivf", "obu", "av1", "y4m",
    "yuv",
    "m1v", "m2v", "mpv", "m4e", "dv", "dif", "rm", "rmvb", "nut", "mjpg", "mjpeg", "vc1", "drc", "wtv",
  ]

  /// Names of containers that hold sound alone, and of segments: honest for a file that is just that.
  static let soundInContainers: Set<String> = ["m4a", "mka", "oga", "ogg", "wma", "cmfa", "m4s", "cmfv"]
}
