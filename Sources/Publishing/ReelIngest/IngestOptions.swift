import ReelCore
import ReelSource

/// How a run treats the files it finds.
public struct IngestOptions: Sendable {
  /// Metadata given for every file by flags; takes precedence over the caption list, settings and sidecars.
  public var metadata = PostMetadata()
  /// Metadata given for every file by settings; used after the caption list.
  public var defaultMetadata = PostMetadata()
  /// Metadata given for single files.
  public var captions: CaptionList?
  /// Whether a sidecar may name the author. By default it may not, because it comes from the same unknown source as the
  /// clip.
  public var trustSidecars = false
  /// What to do with a video that already is a post.
  public var duplicates = DuplicateHandling.skip
  /// Whether a video whose post was removed is published again.
  public var again = false
  /// Whether to show what would happen without writing anything.
  public var dryRun = false
  /// How a failed file affects the others.
  public var onError = OnError.continue
  /// The number of batches that are read, judged and stored at once; at least 1. A batch has up to 32 files if the
  /// store takes batches or is bound by latency, otherwise one. Files that merely wait come on top: ``maxInFlight``
  /// bounds them all.
  public var jobs = 4
  /// The largest number of files that have begun but not ended; at least 1. Nil means as many as are worthwhile: up to
  /// 64 for each of ``jobs``, and 16 with slow readers. Each holds two to four descriptors and its private copy.
  public var maxInFlight: Int?
  /// The size in bytes of the largest file that is accepted; nil for any. A larger file breaks the rule `bytes.max`,
  /// which is checked before any of it is read, because hashing a file has no deadline.
  public var maxSize: Int64? = 64_000_000_000
  /// Whether each post gets a poster, stored beside its video.
  public var posters = Posters.none
  /// The kind of posters.
  public var poster = PosterOptions()
  /// What to mend in files before they are judged and published.
  package var mends = MendOptions()
  /// Whether a post stores the name of its file, without the folder.
  public var keepsSourceName = true
  /// The number of characters in an object's name before the dot, 16 ... 64.
  public var nameLength = 22
  /// Whether to make up like and share counts between 1000 and 100000, for a demo feed.
  public var demoCounts = false
  /// Whether to count the files by a second walk ahead of the first, so that a view can show how much is left. Costs a
  /// lookup of each name.
  public var countsAhead = false
  /// Whether the event of a known file names its post. Loading the post is most of the cost of such a file; a run whose
  /// events nobody reads can do without it.
  public var tellsKnownPosts = true
  /// Whether a file that is known as a post is read anyway, to prove that it still holds the post's bytes. For callers
  /// that remove the file afterwards.
  package var provesDuplicates = false
  /// Whether the caller confirms which events have been passed on (``IngestModel/acknowledge(_:)``). Otherwise a post
  /// counts as told once its event is in the observers' buffers; if the process dies before they are read, the event is
  /// never told.
  public var isAcknowledged = false
  /// Prepended to relative paths when they are remembered, so that `reel status` shows them correctly from any folder.
  public var workingDirectory: SourcePath?

  /// Creates the default options.
  public init() {}

  /// Whether posts get posters.
  public enum Posters: String, Sendable, CaseIterable {
    /// No posters.
    case none
    /// A poster if one can be made; otherwise the video is published without one.
    case wanted
    /// A poster for every post; a video whose poster can't be made and stored is not published.
    case required
  }

  /// How a failed file affects the others.
  public enum OnError: String, Sendable, CaseIterable {
    /// Not at all: they are processed.
    case `continue`
    /// No further file is started; files in flight are finished.
    case stop
  }
}

extension IngestOptions {
  /// The form in which `path` is remembered.
  func absolute(_ path: SourcePath) -> SourcePath {
    guard let workingDirectory, path.bytes.first != UInt8(ascii: "/"), !path.isAddress else { return path }
    return workingDirectory.appending(path.bytes)
  }
}

/// The services that a run uses, each behind a protocol, so that tests can replace them.
public struct IngestServices: Sendable {
  /// Reads the facts of files.
  public var prober: any MediaProber
  /// Makes posters; nil if none are wanted.
  public var posters: (any PosterMaker)?
  /// Mends files; nil if nothing is to be mended.
  package var mender: (any MediaMender)?
  /// Puts videos into the store.
  public var uploader: any Uploader
  /// Records posts beside their objects; nil for a store that keeps no posts.
  public var recorder: (any PostRecorder)?
  /// Remembers intents, posts and files.
  public var catalog: any PostCatalog
  /// Decides which files may be published.
  public var policy: any IntakePolicy
  /// The source of the times of posts, ids and events.
  public var clock: any WallClock
  /// The source of random names, ids and demo counts.
  public var randomness: any Randomness
  /// Where private copies are made if the uploader has no place for them.
  public var staging: any StagingArea
  /// Words messages for their readers; nil leaves them unchanged. Failures and refusals are reported and remembered in
  /// the returned wording.
  ///
  /// Messages name settings in backquotes, as docs/settings.md does (`maxSize`). An app may substitute its own names
  /// (``ErrorMessage/naming(_:writing:)``), as the command line substitutes its flags.
  public var wording: (@Sendable (ErrorMessage) -> String)?
  /// Called after each step of each file. For tests; does nothing by default.
  public var onStep: @Sendable (IntakeStep) -> Void = { _ in }
  /// Called after each stage of a file or a batch with the time it took. Stages of several files run side by side, so
  /// the times add up to more than the run's duration. Nil measures nothing.
  public var onStage: (@Sendable (IntakeStage, Duration) -> Void)?

  /// Creates services; protocols that `ReelCore` implements default to that implementation.
  public init(
    prober: any MediaProber, posters: (any PosterMaker)? = nil, uploader: any Uploader,
    recorder: (any PostRecorder)? = nil,
    catalog: any PostCatalog,
    policy: any IntakePolicy = DefaultIntakePolicy(), clock: any WallClock = SystemWallClock(),
    randomness: any Randomness = SystemRandomness(), staging: any StagingArea = TemporaryStaging()
  ) {
    self.prober = prober
    self.posters = posters
    self.uploader = uploader
    self.recorder = recorder
    self.catalog = catalog
    self.policy = policy
    self.clock = clock
    self.randomness = randomness
    self.staging = staging
  }

  /// The message in the wording of its readers.
  package func worded(_ text: ErrorMessage) -> String { wording?(text) ?? text.description }
}

extension IngestContext {
  /// Refuses a file that is too large by its size alone, before any of it is read.
  ///
  /// The size comes from the walk; opening the file later checks that it is still the same. Blocks if the file is too
  /// large.
  func checkSize(of found: FoundFile, _ file: FileReference) throws {
    let size = found.identity.size
    var violations = policy(for: file).violations(ofSize: size, of: found.path)
    if let most = options.maxSize, size > most {
      violations = [PolicyViolation(rule: "bytes.max", message: SizeWords.tooLarge(size, most: most))]
    }
    guard !violations.isEmpty else { return }
    let stored = found.isRemote ? nil : (try? found.open())?.handle.storedBytes()
    let holes = SizeWords.holes(size, stored: stored)
    let told = violations.map { PolicyViolation(rule: $0.rule, message: "\($0.text)\(holes ?? "")") }
    if let refusal = FileRefused(told) { throw StepFailure.refused(refusal) }
  }
}

/// The wording about a file that is too large.
enum SizeWords {
  static func tooLarge(_ size: Int64, most: Int64) -> ErrorMessage {
    var texts = [size, most].map { Decimals.bytes($0) }
    if texts[0] == texts[1] { texts = ["\(size) bytes", "\(most) bytes"] }
    return
      "it has \(texts[0]), more than the \(texts[1]) that are accepted; raise \(setting: .maxSize) to accept it"
  }

  /// A suffix about a sparse file; nil if most of its bytes are really stored, or if that is unknown.
  static func holes(_ size: Int64, stored: Int64?) -> String? {
    guard let stored, stored < size / 2 else { return nil }
    return " (it is sparse: only \(Decimals.bytes(stored)) of its \(Decimals.bytes(size)) is stored)"
  }
}

/// The steps of one file that produce or learn something, in order (docs/publish.md). A debug build can be told to die
/// right after any of them, which is how the tests prove "exactly once".
public enum IntakeStep: String, Sendable, CaseIterable {
  /// The file is open, and is not a symbolic link.
  case opened
  /// A private copy was made and hashed.
  case hashed
  /// The file was mended in a second copy, which is proved to hold the same content.
  case mended
  /// The file's facts are known.
  case probed
  /// The policy accepts the file.
  case judged
  /// Transaction T1 is durable.
  case intended
  /// The whole object is stored.
  case uploaded
  /// What is stored is proved to be what was sent.
  case verified
  /// The post is recorded beside its object, in a store that keeps posts.
  case recorded
  /// Transaction T2 is durable.
  case published
  /// `post.published` has been emitted.
  case told
}
