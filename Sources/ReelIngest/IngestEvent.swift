import FoundationEssentials
import ReelModel

/// Something that is true of a run: what views draw, `--events` writes, and tests read.
///
/// As JSON one object: `v`, `seq`, `at`, `type`, the file where it is about one, and the facts of its type
/// (`docs/events.schema.json`).
public struct IngestEvent: Hashable, Sendable {
  /// The version of the JSON.
  public static let version = 1

  /// Counted from 1 within the run, without gaps for an observer who is there from the beginning, but for
  /// progress that was overtaken by newer progress.
  public let sequence: Int
  public let at: Date
  public let body: Body

  public init(sequence: Int, at: Date, body: Body) {
    self.sequence = sequence
    self.at = at
    self.body = body
  }

  public enum Body: Hashable, Sendable {
    case runStarted(RunStarted)
    /// How far the walk has come. Coalesces.
    case runScanned(RunScanned)
    case fileStarted(FileReference, size: Int64?)
    case fileProbed(FileReference, ProbeReport)
    case fileNamed(FileReference, FileNamed)
    /// Coalesces.
    case uploadProgress(FileReference, TransferProgress)
    case uploadRetrying(FileReference, TransferProgress)
    /// Terminal.
    case postPublished(FileReference, Post)
    /// Terminal: it is a post already.
    case fileDuplicate(FileReference, FileDuplicate)
    /// Terminal, in a dry run: it would have been published.
    case filePlanned(FileReference, FilePlanned)
    /// Terminal: the policy does not want it.
    case fileRefused(FileReference, FileRefused)
    /// Terminal.
    case fileFailed(FileReference, FileFailure)
    /// The last event of a run.
    case runFinished(RunSummary)
  }
}

/// A file within a run.
public struct FileReference: Hashable, Sendable {
  /// Counted from 1 in the order of the run.
  public let number: Int
  public let path: SourcePath

  public init(number: Int, path: SourcePath) {
    self.number = number
    self.path = path
  }
}

public struct RunStarted: Hashable, Sendable, Codable {
  public let destination: Destination
  public let dryRun: Bool

  public init(destination: Destination, dryRun: Bool) {
    self.destination = destination
    self.dryRun = dryRun
  }
}

public struct RunScanned: Hashable, Sendable, Codable {
  /// Files to take in that were found so far.
  public let found: Int
  /// Files that are no candidates.
  public let ignored: Int
  /// Bytes of the files found so far.
  public let bytes: Int64
  /// Whether the walk has come to its end, so that `found` is the total.
  public let complete: Bool

  public init(found: Int, ignored: Int, bytes: Int64, complete: Bool) {
    self.found = found
    self.ignored = ignored
    self.bytes = bytes
    self.complete = complete
  }
}

public struct FileNamed: Hashable, Sendable, Codable {
  public let id: PostID
  public let key: ObjectKey
  /// Above 1 when an earlier attempt was cut short.
  public let attempt: Int

  public init(id: PostID, key: ObjectKey, attempt: Int) {
    self.id = id
    self.key = key
    self.attempt = attempt
  }
}

public struct FileDuplicate: Hashable, Sendable, Codable {
  /// The post that this video is already; nil in a dry run for a video that an earlier file of the same run
  /// would have become.
  @ExplicitNull public var post: Post?

  public init(post: Post?) {
    self.post = post
  }
}

public struct FilePlanned: Hashable, Sendable, Codable {
  public let media: MediaInfo
  public let words: PostWords

  public init(media: MediaInfo, words: PostWords) {
    self.media = media
    self.words = words
  }
}

public struct FileRefused: Hashable, Sendable, Codable {
  /// `unsupported` for a kind that is not taken in, `truncated` for a file cut off, else `policy`.
  public let code: String
  /// Every rule that it breaks; at least one.
  public let violations: [PolicyViolation]

  public init(code: String, violations: [PolicyViolation]) {
    self.code = code
    self.violations = violations
  }

  /// One sentence for people.
  public var message: String { violations.map(\.message).joined(separator: "; ") }
}

public struct FileFailure: Hashable, Sendable, Codable, Error {
  /// A code of the layer that failed: `SourceError.Code`, `ProbeError.Code`, `UploadError.Code`, `CatalogError.Code`.
  public let code: String
  /// What went wrong and what to do; one sentence for people, without the file's path.
  public let message: String

  public init(code: String, message: String) {
    self.code = code
    self.message = message
  }
}

/// How a run ended.
public struct RunSummary: Hashable, Sendable, Codable {
  public enum Outcome: String, Codable, Sendable, CaseIterable {
    /// Every file had its turn.
    case completed
    /// A file failed, and the run was to stop then.
    case stopped
    /// Somebody cancelled it.
    case cancelled
    /// It could not go on: `error` says why.
    case aborted
  }
  public var outcome: Outcome
  public var published = 0
  public var duplicates = 0
  public var planned = 0
  public var refused = 0
  public var failed = 0
  public var ignored = 0
  /// Bytes of the videos that were published.
  public var publishedBytes: Int64 = 0
  /// How many files failed or were refused, by code.
  public var reasons: [String: Int] = [:]
  /// Seconds from start to end, by a clock that no one can set.
  public var seconds: Double = 0
  @ExplicitNull public var error: FileFailure?

  public init(outcome: Outcome, error: FileFailure? = nil) {
    self.outcome = outcome
    self.error = error
  }
}

extension IngestEvent.Body {
  /// The file it is about, if it is about one.
  public var file: FileReference? {
    switch self {
    case .runStarted, .runScanned, .runFinished: nil
    case .fileStarted(let file, _), .fileProbed(let file, _), .fileNamed(let file, _),
      .uploadProgress(let file, _), .uploadRetrying(let file, _), .postPublished(let file, _),
      .fileDuplicate(let file, _), .filePlanned(let file, _), .fileRefused(let file, _),
      .fileFailed(let file, _):
      file
    }
  }

  /// Whether it is the one event that ends its file, or the run.
  public var isTerminal: Bool {
    switch self {
    case .postPublished, .fileDuplicate, .filePlanned, .fileRefused, .fileFailed, .runFinished: true
    default: false
    }
  }

  /// Whether a newer one of its kind (for the same file) makes it worthless.
  public var coalesces: Bool {
    switch self {
    case .uploadProgress: true
    case .runScanned(let scanned): !scanned.complete
    default: false
    }
  }

  /// The `type` of the JSON.
  public var type: String {
    switch self {
    case .runStarted: "run.started"
    case .runScanned: "run.scanned"
    case .fileStarted: "file.started"
    case .fileProbed: "file.probed"
    case .fileNamed: "file.named"
    case .uploadProgress: "upload.progress"
    case .uploadRetrying: "upload.retrying"
    case .postPublished: "post.published"
    case .fileDuplicate: "file.duplicate"
    case .filePlanned: "file.planned"
    case .fileRefused: "file.refused"
    case .fileFailed: "file.failed"
    case .runFinished: "run.finished"
    }
  }
}
