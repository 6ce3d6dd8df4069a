import ReelCore
import ReelLibrary

/// The contents of the catalog, and the files that failed, with the reasons.
package struct StatusView: Sendable {
  private let status: CatalogStatus
  private let library: String

  package init(_ status: CatalogStatus, library: String) {
    self.status = status
    self.library = library
  }

  package func text(_ traits: TerminalTraits) -> String {
    var sheet = FactSheet(traits)
    sheet.add("library", library)
    sheet.add("posts", "\(status.posts), \(HumanNumber.bytes(status.bytes))", .strong)
    for entry in status.destinations {
      sheet.add("stored in", "\(entry.destination.name): \(HumanNumber.count(entry.posts, "post", "posts"))")
    }
    if status.removed > 0 { sheet.add("removed", removed) }
    if status.unfinished > 0 {
      sheet.add("unfinished", "\(status.unfinished); the next run continues with them", .warning)
    }
    sheet.add("not published", status.failureCount == 0 ? "no file" : filesNotPublished)
    return (sheet.lines(indent: 0) + failures(traits)).text(traits)
  }

  private var removed: String {
    let posts = HumanNumber.count(status.removed, "post", "posts")
    return status.kept == 0 ? posts : "\(posts), \(status.kept) of them kept in the store"
  }

  private var filesNotPublished: String {
    HumanNumber.count(status.failureCount, "file", "files") + ", the newest first:"
  }

  /// The files that were not published, as far as they are listed.
  var problems: [AnswerProblem] {
    status.failures.map { AnswerProblem($0.failure.code, $0.failure.message, path: $0.path) }
  }

  private func failures(_ traits: TerminalTraits) -> [StyledLine] {
    traits.listed(
      status.failures, beside: status.failureCount - status.failures.count,
      rest: ": --json lists up to 1000"
    ) { path, failure in
      ProblemSummary.lines(
        ProblemList.Entry(
          path: path, code: failure.code, message: failure.message, refused: failure.refused), traits)
    }
  }
}

extension StatusView: Encodable {
  private enum CodingKeys: String, CodingKey {
    case library, posts, bytes, destinations, removed, kept, unfinished, failures, failureCount, schemaVersion
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(library, forKey: .library)
    try container.encode(status.posts, forKey: .posts)
    try container.encode(status.bytes, forKey: .bytes)
    try container.encode(status.destinations.map(DestinationEntry.init), forKey: .destinations)
    try container.encode(status.removed, forKey: .removed)
    try container.encode(status.kept, forKey: .kept)
    try container.encode(status.unfinished, forKey: .unfinished)
    try container.encode(status.failures.map(FailureEntry.init), forKey: .failures)
    try container.encode(status.failureCount, forKey: .failureCount)
    try container.encode(status.schemaVersion, forKey: .schemaVersion)
  }

  private struct DestinationEntry: Encodable {
    let destination: Destination
    let posts: Int
  }

  private struct FailureEntry: Encodable {
    let path: SourcePath
    let failure: FailureRecord

    func encode(to encoder: any Encoder) throws {
      var paths = encoder.container(keyedBy: SourcePathCoding.self)
      try path.encode(into: &paths)
      try failure.encode(to: encoder)
    }
  }
}

/// The size of the cache of files and probe results, now or before `reel cache clear`.
package struct CacheView: Encodable, Sendable {
  private enum CodingKeys: String, CodingKey { case cleared }
  private let status: CacheStatus
  private let cleared: Bool

  package init(_ status: CacheStatus, cleared: Bool = false) {
    self.status = status
    self.cleared = cleared
  }

  package func text(_ traits: TerminalTraits) -> String {
    let size = HumanNumber.bytes(status.bytes)
    let files = HumanNumber.count(status.files, "file", "files")
    let readings = HumanNumber.count(status.readings, "probe result", "probe results")
    let sentence =
      cleared
      ? "freed \(size): the digests of \(files) and \(readings) are forgotten; posts stay"
      : "the cache takes \(size): the digests of \(files) and \(readings)"
    return traits.wrapped(sentence).text(traits)
  }

  package func encode(to encoder: any Encoder) throws {
    try status.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(cleared, forKey: .cleared)
  }
}

/// The versions of all components (`reel version`).
package struct VersionView: Encodable, Hashable, Sendable {
  package var reel: String
  /// The commit that it was built from; nil if unknown.
  @ExplicitNull package var commit: String?
  /// The version of `reel-probe-worker`; nil if it does not answer.
  @ExplicitNull package var worker: String?
  /// How far the worker is confined on this machine; nil if it does not answer.
  @ExplicitNull package var isolation: IsolationLevel?
  /// The version of libavformat, according to the worker.
  @ExplicitNull package var ffmpeg: String?
  /// The version of SQLite that the catalog uses.
  @ExplicitNull package var sqlite: String?
  @ExplicitNull package var walResetBug: SQLiteLibrary.WALResetBug?
  /// Why the worker does not answer, and what to do; one sentence.
  @ExplicitNull package var workerProblem: String?

  package init(
    reel: String = ReelVersion.current, commit: String? = ReelVersion.commit, worker: String?,
    isolation: IsolationLevel?, ffmpeg: String?, sqlite: SQLiteLibrary?, workerProblem: String? = nil
  ) {
    self.reel = reel
    _commit = ExplicitNull(wrappedValue: commit)
    _worker = ExplicitNull(wrappedValue: worker)
    _isolation = ExplicitNull(wrappedValue: isolation)
    _ffmpeg = ExplicitNull(wrappedValue: ffmpeg)
    _sqlite = ExplicitNull(wrappedValue: sqlite?.version)
    _walResetBug = ExplicitNull(wrappedValue: sqlite?.walResetBug)
    _workerProblem = ExplicitNull(wrappedValue: workerProblem)
  }

  package func text(_ traits: TerminalTraits) -> String {
    var sheet = FactSheet(traits)
    sheet.add("reel", reel, .strong)
    sheet.add(
      "reel-probe-worker", worker ?? workerProblem ?? "does not answer", worker == nil ? .failure : nil)
    if let isolation {
      sheet.add("isolation", Self.words(isolation), [.full, .strict].contains(isolation) ? nil : .warning)
    }
    sheet.add("libavformat", ffmpeg ?? "unknown")
    sheet.add("SQLite", [sqlite ?? "unknown", walResetBug?.words].compactMap(\.self).joined(separator: ", "))
    if worker != nil { sheet.add("problem", workerProblem, .failure) }
    return sheet.lines(indent: 0).text(traits)
  }

  /// The level in words, with what is missing.
  private static func words(_ level: IsolationLevel) -> String {
    switch level {
    case .full, .strict: level.rawValue
    case .seccomp: "seccomp, without Landlock"
    case .landlock: "landlock, without seccomp"
    case .limits: "resource limits, without Landlock and seccomp"
    case .none: "none: files are read unconfined"
    }
  }
}

extension SQLiteLibrary.WALResetBug {
  /// What it means here, as the end of a sentence about the SQLite library.
  package var words: String {
    switch self {
    case .affected:
      "which has the WAL-reset bug; Reel avoids it by making checkpoints only while nothing else can commit"
    case .fixed: "without the WAL-reset bug"
    }
  }
}
