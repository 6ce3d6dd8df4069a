import ReelCore

/// Everything that is known about a file before it is judged. A plain value: the code that gathers it does the reading.
package struct FixtureFacts: Hashable, Sendable {
  /// The path by which it is reported; patterns of a policy apply to ``patternPath``.
  package var path: SourcePath
  /// The path relative to the folder that the user named; for a file that was named itself, its name alone.
  package var patternPath: SourcePath
  /// The size in bytes; nil if the file could not be reached.
  package var size: Int64?
  /// Nil if nothing needed it.
  package var digest: ContentDigest?
  /// The file's identity, whatever its name; nil for a remote file.
  package var identity: FileIdentity?
  /// Whether the user who runs this owns it, and only its mode denies reading.
  package var lacksOnlyItsMode = false
  /// Whether it is remote, so that no command on this machine changes it.
  package var isRemote = false
  /// Nil outside a work tree, and if nothing needed it.
  package var git: GitFacts?
  /// If the file is a Git LFS pointer, the digest of the file for which it stands.
  package var pointsTo: ContentDigest?
  /// The mends that were tried but are impossible without loss.
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

  /// The facts, if the file could be read.
  package var media: MediaInfo? {
    if case .media(let report) = reading { report.media } else { nil }
  }

  /// The facts for commands that rewrite the file.
  package var rewriting: RewritingFacts {
    if case .media(let report) = reading { report.rewriting } else { RewritingFacts() }
  }

  /// Why the reader returned no facts, if it could not.
  package var problem: ProbeError? {
    if case .unreadable(let error) = reading { error } else { nil }
  }
}

/// What Git knows of a file in a work tree.
package struct GitFacts: Hashable, Sendable {
  /// The digest of the file in the last commit, or of the one for which a Git LFS pointer there stands; nil if there is
  /// none.
  package var committed: ContentDigest?
  /// The path relative to the root of the work tree if Git LFS tracks the file.
  package var lfsPlace: SourcePath?

  package init(committed: ContentDigest? = nil, lfsPlace: SourcePath? = nil) {
    (self.committed, self.lfsPlace) = (committed, lfsPlace)
  }
}

package enum FixtureReading: Hashable, Sendable {
  case media(ProbeReport)
  /// The file was opened, but is not media or could not be read as such.
  case unreadable(ProbeError)
  case unreachable(SourceError)
  /// The file is not a video but a sidecar without one.
  case orphanSidecar
}

/// The state of the sidecar beside a video.
package enum SidecarStatus: Hashable, Sendable {
  case none
  case valid
  /// The sentence says why.
  case invalid(String)
}

/// Whether another file of the run has the same bytes.
package enum Likeness: Hashable, Sendable {
  /// No rule needed this.
  case notLookedFor
  case unique
  /// The first, in order, of the files with the same bytes.
  case sameAs(SourcePath)
  /// It is the same file under another name: a link.
  case isFile(SourcePath)
  /// The bytes could not be read.
  case unknown
}

extension ProbeError.Code {
  /// Whether this means that Reel could not do its work, rather than that something is wrong with the file.
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

/// The extensions by which a name claims to be a video, whether Reel accepts it or not.
package enum VideoNames {
  /// In lower case, without the dot.
  package static let extensions = MediaContainer.claimableExtensions.union(raw)

  /// Streams without a container, and containers that Reel does not accept.
  static let raw: Set<String> = [
    "264", "h264", "avc", "265", "h265", "hevc", "266", "h266", "vvc", "h263", "ivf", "obu", "av1", "y4m",
    "yuv",
    "m1v", "m2v", "mpv", "m4e", "dv", "dif", "rm", "rmvb", "nut", "mjpg", "mjpeg", "vc1", "drc", "wtv",
  ]

  /// Extensions of containers that hold only sound, and of segments: honest names for files that are just that.
  static let soundInContainers: Set<String> = ["m4a", "mka", "oga", "ogg", "wma", "cmfa", "m4s", "cmfv"]
}
