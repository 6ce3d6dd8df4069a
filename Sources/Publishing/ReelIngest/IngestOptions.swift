import ReelCore
import ReelSource

/// How a run treats the files it finds.
public struct IngestOptions: Sendable {
  /// Said for every file by flags; comes before everything else.
  public var metadata = PostMetadata()
  /// Said for every file by settings; comes after the caption list.
  public var defaultMetadata = PostMetadata()
  /// Said for single files.
  public var captions: CaptionList?
  /// Whether a sidecar may name the author. It comes from the same stranger as its clip.
  public var trustSidecars = false
  /// What to do with a video that is a post already.
  public var duplicates = DuplicateHandling.skip
  /// Whether a video whose post was removed is published again.
  public var again = false
  /// Show what would happen without writing anything.
  public var dryRun = false
  /// What a failed file means for the others.
  public var onError = OnError.continue
  /// Batches of files read, judged and stored at once; at least 1. A batch is up to 32 files where the store takes or
  /// waits for several together, else one. Files that only wait come on top: ``maxInFlight`` bounds them all.
  public var jobs = 4
  /// Files that are begun and have had no end, at most; at least 1. Nil: as many as pay off, up to 64 for each of ``jobs``,
  /// and 16 with slow readers. Each holds two to four descriptors, and its private copy.
  public var maxInFlight: Int?
  /// Bytes of the largest file that is taken in; nil for any. A larger one breaks the rule `bytes.max`, which is found out
  /// before any of it is read: hashing a file has no deadline.
  public var maxSize: Int64? = 64_000_000_000
  /// Whether each post gets a poster, stored beside its video.
  public var posters = Posters.none
  /// What kind of posters.
  public var poster = PosterOptions()
  /// What is mended in files before they are judged and published.
  package var mends = MendOptions()
  /// Whether a post remembers the name of its file, without the folder.
  public var keepsSourceName = true
  /// Characters of an object's name before the dot, 16 ... 64.
  public var nameLength = 22
  /// Make up like and share counts between 1000 and 100000, for a demo feed.
  public var demoCounts = false
  /// Walk ahead to count the files, so that a view can show how much is left. Costs a look at each name.
  public var countsAhead = false
  /// Whether the event of a file that is known as a post tells which post. Reading it is most of what such a file costs;
  /// a run whose events nobody reads can do without.
  public var tellsKnownPosts = true
  /// Whether a file that is known as a post is read all the same, to prove that it still holds what its post does: for who
  /// takes it away then.
  package var provesDuplicates = false
  /// Whether somebody says which events have been passed on (``IngestModel/acknowledge(_:)``). Else a post counts as told
  /// once its event waits in the observers' buffers; should the process die before they are read, nobody tells it.
  public var isAcknowledged = false
  /// Put before relative paths where they are remembered, so that `reel status` names them from anywhere.
  public var workingDirectory: SourcePath?

  /// The options as they are when nobody says otherwise.
  public init() {}

  /// Whether posts get posters.
  public enum Posters: String, Sendable, CaseIterable {
    /// No.
    case none
    /// Where one can be made; the others are published without.
    case wanted
    /// Yes; a video of which none can be made and stored is not published.
    case required
  }

  /// What a failed file means for the others.
  public enum OnError: String, Sendable, CaseIterable {
    /// Nothing: they are taken in.
    case `continue`
    /// Start no further file; those in flight come to their end.
    case stop
  }
}

extension IngestOptions {
  /// As `path` is remembered.
  func absolute(_ path: SourcePath) -> SourcePath {
    guard let workingDirectory, path.bytes.first != UInt8(ascii: "/"), !path.isAddress else { return path }
    return workingDirectory.appending(path.bytes)
  }
}

/// What a run works with, each behind its port, so that a test brings its own.
public struct IngestServices: Sendable {
  /// Reads what files are.
  public var prober: any MediaProber
  /// Makes posters; nil where none are wanted.
  public var posters: (any PosterMaker)?
  /// Mends files; nil where nothing is to be mended.
  package var mender: (any MediaMender)?
  /// Puts videos into the store.
  public var uploader: any Uploader
  /// Writes posts down beside their objects; nil for a store that keeps none.
  public var recorder: (any PostRecorder)?
  /// Remembers intents, posts and files.
  public var catalog: any PostCatalog
  /// Decides which files may be published.
  public var policy: any IntakePolicy
  /// The time of posts, ids and events.
  public var clock: any WallClock
  /// What names, ids and demo counts are drawn from.
  public var randomness: any Randomness
  /// Where private copies are made when the uploader has no place for them.
  public var staging: any StagingArea
  /// How messages are worded for who reads them; nil: as they are. Failures and refusals are told and remembered in the words
  /// that it returns.
  ///
  /// Messages name settings in backquotes, as docs/settings.md does (`maxSize`): an app may put its own names in their
  /// place (``ErrorMessage/naming(_:writing:)``), as the command line puts its flags.
  public var wording: (@Sendable (ErrorMessage) -> String)?
  /// Called after each step of each file. For tests; does nothing by default.
  public var onStep: @Sendable (IntakeStep) -> Void = { _ in }
  /// Called after each stage of a file or of a batch, with the time that it took. Stages of several files run side by
  /// side, so the times add up to more than the run's. Nil: nothing is measured.
  public var onStage: (@Sendable (IntakeStage, Duration) -> Void)?

  /// Services; the protocols that have an implementation in `ReelCore` have it as default.
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

  /// The message as it is told.
  package func worded(_ text: ErrorMessage) -> String { wording?(text) ?? text.description }
}

extension IngestContext {
  /// Refuses a file that is too large by its size alone, before any of it is read.
  ///
  /// The size is that of the walk: opening the file afterwards makes sure that it is still that one. Blocks where it is
  /// too large.
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

/// What is said of a file that is too large.
enum SizeWords {
  static func tooLarge(_ size: Int64, most: Int64) -> ErrorMessage {
    var texts = [size, most].map { Decimals.bytes($0) }
    if texts[0] == texts[1] { texts = ["\(size) bytes", "\(most) bytes"] }
    return
      "it has \(texts[0]), more than the \(texts[1]) that are accepted; raise \(setting: .maxSize) to accept it"
  }

  /// To be put behind it; nil where most of it is really there, or nobody knows.
  static func holes(_ size: Int64, stored: Int64?) -> String? {
    guard let stored, stored < size / 2 else { return nil }
    return " (its \(Decimals.bytes(size)) are mostly holes: \(Decimals.bytes(stored)) are stored)"
  }
}

/// The steps of one file that leave something behind or learn something, in their order (docs/publish.md).
/// A debug build can be told to die right after any of them, which is how the tests prove "exactly once".
public enum IntakeStep: String, Sendable, CaseIterable {
  /// It is open, and not a link.
  case opened
  /// A private copy was made and hashed.
  case hashed
  /// What was to be put right in it was, in a copy of it, and that is proved to hold the same.
  case mended
  /// Its facts are known.
  case probed
  /// The policy wants it.
  case judged
  /// T1 is durable.
  case intended
  /// The whole object is stored.
  case uploaded
  /// What is stored is what was sent.
  case verified
  /// The post is written down beside its object, in a store that keeps posts.
  case recorded
  /// T2 is durable.
  case published
  /// `post.published` has been told.
  case told
}
