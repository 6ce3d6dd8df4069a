import ReelCore
import Synchronization

/// Stores objects with a program of the user's own, in any language (docs/command-uploader.md).
///
/// For each request the program is started anew, without a shell, with one line of JSON as its input, the object's
/// bytes as descriptor 3, an environment by allow list, and limits on how long it may be silent and how much it may
/// say. What it claims is checked before it is believed, and an object becomes visible only when Reel says so.
public final class CommandUploader: Uploader {
  /// `command:` and the program's path.
  public let destination: Destination

  private let program: AdapterProgram
  private let environment: AdapterEnvironment
  private let claims: AdapterClaims
  private let wording: AdapterWording
  private let files: AdapterFiles
  private let silence: Duration
  private let limitRate: Int64?
  private let grace: Duration
  private let queue: BlockingQueue
  private let told = Mutex(
    UploadTraits(
      atomicCreate: false, resumable: false, verifiesChecksums: false, durable: false))

  /// Starts nothing yet.
  ///
  /// - Parameters:
  ///   - program: what is started.
  ///   - environment: what it gets of our environment.
  ///   - publicBaseURL: put before a key to make the address that viewers open; nil when the program says it.
  ///   - temporaries: an existing folder where nameless copies may lie.
  ///   - silence: how long the program may tell nothing new; an upload and reading back get more, by their size.
  ///   - limitRate: bytes per second that each upload is asked to keep to; the program gets the file itself, so
  ///     only it can.
  ///   - width: how many programs may run at once; at least 1.
  ///   - grace: how long a program may take to clean up and end once it is asked to; then it is killed.
  public init(
    _ program: AdapterProgram, environment: AdapterEnvironment, publicBaseURL: String? = nil,
    temporaries: String = "/tmp", silence: Duration = .seconds(60), limitRate: Int64? = nil, width: Int = 8,
    grace: Duration = .seconds(2)
  ) {
    self.program = program
    self.environment = environment
    destination = program.destination
    wording = AdapterWording(program: program, environment: environment)
    claims = AdapterClaims(wording: wording, publicBaseURL: publicBaseURL)
    files = AdapterFiles(
      folder: temporaries, queue: BlockingQueue(label: "reel.command-files", width: min(4, max(1, width))))
    self.silence = silence
    self.limitRate = limitRate
    self.grace = grace
    queue = BlockingQueue(label: "reel.command", width: width)
  }

  /// What the program said when it was prepared; before that, as little as can be.
  public var traits: UploadTraits { told.withLock { $0 } }

  /// Lets the program make its store ready, and remove what dead ones left.
  /// - Throws: `storeUnusable` when it can't be started or breaks the protocol, and what it says itself.
  public func prepare() async throws(UploadError) {
    let result = try await ask(AdapterRequest(verb: .prepare, store: program.store))
    guard result.protocol == AdapterRequest.version else {
      let spoken = result.protocol.map { "version \($0)" } ?? "no version"
      throw UploadError(
        .storeUnusable,
        "the adapter \(program.name) speaks \(spoken) of the protocol, and Reel speaks version "
          + "\(AdapterRequest.version): see docs/command-uploader.md")
    }
    told.withLock { traits in
      traits.atomicCreate = result.atomicCreate ?? false
      traits.durable = result.durable ?? false
      traits.removes = result.removes ?? true
    }
  }

  /// Hands the file to the program, and lets it make the object visible once all of it is sent and unchanged.
  /// - Throws: what the program says, `sourceChanged`, `sourceUnreadable`, `interrupted` when it ends or falls
  ///   silent, `verificationFailed` when it claims what can't be, `storeUnusable` when it breaks the protocol,
  ///   `cancelled`.
  public func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    let file = try await files.file(of: source)
    let request = AdapterRequest(
      verb: .upload, store: program.store, key: key, size: source.size, digest: source.digest,
      contentType: source.contentType, limitRate: limitRate)
    let limits = AdapterLimits(
      silence: silence, size: source.size, limitRate: limitRate, grace: grace)
    reporting(TransferProgress(sent: 0, total: source.size))
    let result = try await run { [self] wake throws(UploadError) in
      var reports = SparseReports(total: source.size, reporting)
      let conversation = AdapterConversation(
        with: try start(object: file), dialogue: AdapterDialogue(.upload, size: source.size), limits: limits,
        wording: wording, wake: wake,
        listener: .init(
          progress: { reports.pass($0) }, staged: { () throws(UploadError) in try source.checkUnchanged() }))
      do throws(UploadError) {
        return try conversation.ask(try line(request), keepsInput: true)
      } catch {
        // An adapter that hashes what it sends sees a change, too, and can only say that the bytes are others.
        if error.code == .verificationFailed { try source.checkUnchanged() }
        throw error
      }
    }
    let object: StoredObject
    do throws(UploadError) {
      object = try claims.object(key, result, size: source.size)
    } catch {
      // It says that it has stored what can't be right: then it was this very upload, and does not stay.
      _ = try? await shielded { [self] () async throws(UploadError) in try await remove(key) }
      throw error
    }
    reporting(TransferProgress(sent: source.size, total: source.size))
    return object
  }

  /// What the program finds.
  public func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? {
    let result = try await ask(AdapterRequest(verb: .find, store: program.store, key: key))
    return try claims.isFound(result) ? try claims.object(key, result, size: nil) : nil
  }

  /// Lets the program remove the object, and passes on what it says that is left.
  /// - Throws: `rejected` when the program has said that it removes nothing; else what it says.
  @discardableResult
  public func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval {
    guard traits.removes else { throw wording.removesNothing(key) }
    let result = try await ask(AdapterRequest(verb: .remove, store: program.store, key: key))
    return result.remains.map { ObjectRemoval(remains: wording.remains(of: key, $0)) } ?? .gone
  }

  /// Reads the bytes that the program writes to descriptor 3, and hashes them here.
  /// - Throws: `interrupted` when they are not as many as it says.
  public func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? {
    let request = AdapterRequest(verb: .readBack, store: program.store, key: key)
    let (result, read) = try await run { [self] wake throws(UploadError) in
      let (process, sink) = try startWriting()
      let conversation = AdapterConversation(
        with: process, dialogue: AdapterDialogue(.readBack),
        limits: AdapterLimits(silence: silence, grace: grace), wording: wording, wake: wake, sink: sink)
      let result = try conversation.ask(try line(request), keepsInput: false)
      return (result, (sink.count, sink.digest))
    }
    guard try claims.isFound(result) else { return nil }
    guard result.size == read.0 else {
      throw UploadError(
        .interrupted,
        "the adapter \(program.name) gave \(read.0) bytes of \(key), and says there are \(result.size ?? -1)")
    }
    return read.1
  }
}

extension CommandUploader {
  private func ask(_ request: AdapterRequest) async throws(UploadError) -> AdapterFields {
    try await run { [self] wake throws(UploadError) in
      let conversation = AdapterConversation(
        with: try start(object: nil), dialogue: AdapterDialogue(request.verb),
        limits: AdapterLimits(silence: silence, grace: grace), wording: wording, wake: wake)
      return try conversation.ask(try line(request), keepsInput: false)
    }
  }

  /// Runs `body` on a thread of its own; `wake` rings when the task is cancelled.
  private func run<Value: Sendable>(
    _ body: @escaping @Sendable (WakeUp) throws(UploadError) -> Value
  ) async throws(UploadError) -> Value {
    let wake = try starting { () throws(SystemError) in try WakeUp() }
    let result = await withTaskCancellationHandler {
      await queue.run { [wording] () throws(Never) -> Result<Value, UploadError> in
        Result { () throws(UploadError) -> Value in
          if wake.hasRung { throw wording.cancelled }
          return try body(wake)
        }
      }
    } onCancel: {
      wake.ring()
    }
    return try result.get()
  }

  private func start(object: Descriptor?) throws(UploadError) -> AdapterProcess {
    try starting { () throws(SystemError) in
      try AdapterProcess(program, environment.variables, object: object)
    }
  }

  /// Starts the program with a pipe to the sink. Our writing end, which would keep the pipe open beyond the program's end,
  /// goes with this call.
  private func startWriting() throws(UploadError) -> (AdapterProcess, ObjectSink) {
    let pipe = try starting { () throws(SystemError) in try Channel.pipe() }
    return (try start(object: pipe.writing), ObjectSink(reading: pipe.reading))
  }

  private func starting<Value>(_ body: () throws(SystemError) -> Value) throws(UploadError) -> Value {
    try rethrowing(as: wording.notStarted, body)
  }

  private func line(_ request: AdapterRequest) throws(UploadError) -> [UInt8] {
    try rethrowing(
      as: {
        UploadError(.rejected, "the request for the adapter \(program.name) can't be written: \($0)")
      }, request.line)
  }
}

/// Passes reports on at most once a megabyte.
private struct SparseReports {
  private let total: Int64
  private let reporting: @Sendable (TransferProgress) -> Void
  private var last: Int64 = 0

  init(total: Int64, _ reporting: @escaping @Sendable (TransferProgress) -> Void) {
    self.total = total
    self.reporting = reporting
  }

  /// The end is told when it is known to be one.
  mutating func pass(_ sent: Int64) {
    guard sent - last >= 1 << 20, sent < total else { return }
    last = sent
    reporting(TransferProgress(sent: sent, total: total))
  }
}
