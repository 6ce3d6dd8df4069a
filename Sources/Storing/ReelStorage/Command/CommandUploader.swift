import ReelCore
import Synchronization

/// Stores objects with a program of the user's own, in any language (docs/command-uploader.md).
///
/// The program is started anew for each request, without a shell. It gets one line of JSON as its input, the object's
/// bytes as descriptor 3 and an environment by allow list, and it may be silent only for so long and write only so
/// much. Its claims are checked, and an object becomes visible only when Reel says so.
public final class CommandUploader: Uploader {
  /// `command:` and the program's path, with the store behind `#`.
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

  /// Creates an uploader; no program is started yet.
  ///
  /// - Parameters:
  ///   - program: the program to start.
  ///   - environment: the variables that it gets.
  ///   - publicBaseURL: the prefix that turns a key into the address for viewers; nil if the program states the
  ///     address.
  ///   - temporaries: an existing folder for unnamed copies.
  ///   - silence: how long the program may report nothing new. An upload gets more time, by its size; a read-back may
  ///     take as long as bytes arrive.
  ///   - limitRate: the rate, in bytes per second, that each upload is asked to keep to. Only the program can do so, as
  ///     it is given the file itself.
  ///   - width: how many programs may run at once; at least 1.
  ///   - grace: how long a program that was asked to end may take to clean up before it is killed.
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

  /// What the program stated in ``prepare()``; before that, the least that can be assumed.
  public var traits: UploadTraits { told.withLock { $0 } }

  /// Has the program make its store ready, and remove what dead processes left.
  /// - Throws: `storeUnusable` if it can't be started or breaks the protocol; otherwise the error that it reports.
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

  /// Hands the file to the program, and lets it make the object visible once everything is sent and the source is
  /// unchanged.
  /// - Throws: the error that the program reports, `sourceChanged`, `sourceUnreadable`, `interrupted` if it ends early
  ///   or falls silent, `verificationFailed` if it claims what can't be true, `storeUnusable` if it breaks the
  ///   protocol, `cancelled`.
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
        // An adapter that hashes what it sends notices a changed source too, but can only report a wrong digest.
        if error.code == .verificationFailed { try source.checkUnchanged() }
        throw error
      }
    }
    let object: StoredObject
    do throws(UploadError) {
      object = try claims.object(key, result, size: source.size)
    } catch {
      // The claim can't be right, but says that this very upload stored something: remove it.
      _ = try? await shielded { [self] () async throws(UploadError) in try await remove(key) }
      throw error
    }
    reporting(TransferProgress(sent: source.size, total: source.size))
    return object
  }

  /// Asks the program for the object.
  public func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? {
    let result = try await ask(AdapterRequest(verb: .find, store: program.store, key: key))
    return try claims.isFound(result) ? try claims.object(key, result, size: nil) : nil
  }

  /// Has the program remove the object, and passes on what it says remains.
  /// - Throws: `rejected` if the program has said that it removes nothing; otherwise the error that it reports.
  @discardableResult
  public func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval {
    guard traits.removes else { throw wording.removesNothing(key) }
    let result = try await ask(AdapterRequest(verb: .remove, store: program.store, key: key))
    return result.remains.map { ObjectRemoval(remains: wording.remains(of: key, $0)) } ?? .gone
  }

  /// Hashes the bytes that the program writes to descriptor 3.
  /// - Throws: `interrupted` if there are more or fewer of them than it states.
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

  /// Runs `body` on a thread that it may block; `wake` is rung when the task is cancelled.
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

  /// Starts the program with a pipe to the sink. Our copy of the writing end is closed on return, as it would keep the
  /// pipe open after the program has ended.
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

/// Forwards at most one report per megabyte.
private struct SparseReports {
  private let total: Int64
  private let reporting: @Sendable (TransferProgress) -> Void
  private var last: Int64 = 0

  init(total: Int64, _ reporting: @escaping @Sendable (TransferProgress) -> Void) {
    self.total = total
    self.reporting = reporting
  }

  /// The final report is left to the caller, which knows when the upload is complete.
  mutating func pass(_ sent: Int64) {
    guard sent - last >= 1 << 20, sent < total else { return }
    last = sent
    reporting(TransferProgress(sent: sent, total: total))
  }
}
