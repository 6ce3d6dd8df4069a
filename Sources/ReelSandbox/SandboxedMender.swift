import Dispatch
import Glibc
import ReelCore
import ReelWire
import Synchronization

/// Mends files in confined processes, and proves that nothing else has become of them.
///
/// Three processes have a part in it, each of which is handed one file and ends with its answer: one writes the mended
/// file, one reads the source, and one reads what was written. Only where the last two say the same of every packet is the
/// mended file believed.
package struct SandboxedMender: MediaMender {
  private let settings: WorkerSettings
  private let starter: WorkerStarter
  private let proving: WorkerStarter
  private let isKept: Bool

  /// - Parameters:
  ///   - worker: where `reel-probe-worker` is.
  ///   - isolation: how far it is confined.
  ///   - deadline: how long reading a small file may take; a large one may take longer.
  ///   - prover: where the worker is that reads for the proof; nil for the same.
  ///   - isKept: whether what is written goes to the disk while it is proved, because it stays there.
  package init(
    worker: WorkerLocation = .installed, isolation: IsolationRequest = .auto,
    deadline: Duration = SandboxedProber.defaultDeadline, prover: WorkerLocation? = nil,
    isKept: Bool = false
  ) {
    self.isKept = isKept
    settings = WorkerSettings(
      location: worker, isolation: isolation, limits: ProbeLimits(), deadline: deadline,
      startDeadline: max(deadline, .seconds(60)), filesPerWorker: 1)
    var proving = settings
    if let prover { proving.location = prover }
    let thread = SpawnThread()
    starter = WorkerStarter(settings: settings, thread: thread, breaker: StartCircuitBreaker())
    self.proving = WorkerStarter(settings: proving, thread: thread, breaker: StartCircuitBreaker())
  }

  /// Has `file` mended, and proves it. Blocks.
  /// - Parameter output: an empty file, open for reading and writing, that stays open. What is in it when this throws is of
  ///   no use.
  /// - Throws: `notMendable`, `notProven`, `notWritten`, what is said of files that can't be read, `cancelled`.
  package func mend(
    _ file: SourceFile, _ options: MendOptions, into output: Int32, cancellation: CancellationFlag
  ) throws(MendError) -> MendOutcome {
    let container = try orMendError { () throws(ProbeError) in try FirstBytes.container(of: file) }
    let source = try orMendError { () throws(ProbeError) in try Descriptor.reopening(file.handle) }
    // Holes cost nothing, and earn nothing.
    let stored = min(file.size, file.handle.storedBytes() ?? file.size, .max >> 4)
    let reply = try exchange(
      .mend(request(file.size, stored, container, looks: 512 << 20), options), source,
      try Self.writable(output),
      outputSize: min(file.size, .max >> 2) / 4 * 5 + 64 << 20, stored, cancellation)
    guard case .mended(let done, let size) = reply else {
      throw MendError(.garbled("another kind of answer"))
    }
    guard !done.isEmpty else { return MendOutcome(done: [], size: 0, pictures: 0, end: nil) }
    guard done.isSubset(of: options.mends.union([.unfragment])), try Self.size(of: output) == size, size > 0
    else { throw MendError(.garbled("it did not write what it said")) }
    let syncing = isKept ? Syncing(output) : nil
    let proof = Result { () throws(MendError) in
      try prove(file, container, options, output, size, stored, cancellation)
    }
    try syncing?.wait()
    let result = try proof.get()
    let pictures = result.filter { $0.kind == .video }.reduce(0) { $0 + $1.packets }
    let shown = result.filter { $0.kind == .video || $0.kind == .audio }
    let end = shown.compactMap(\.end).max().map { Double($0) / 1e9 }
    return MendOutcome(done: done, size: size, pictures: pictures, end: end)
  }

  // MARK: Proof

  /// The digests of what was written, which are those of the source.
  private func prove(
    _ file: SourceFile, _ container: MediaContainer, _ options: MendOptions, _ output: Int32,
    _ size: Int64, _ stored: Int64, _ cancellation: CancellationFlag
  ) throws(MendError) -> [StreamDigest] {
    let exclusion: MendRequest.DigestOptions.Exclusion =
      options.mends.contains(.data)
      ? .data : options.mends.isDisjoint(with: [.location, .privateTags]) ? .nothing : .timedMetadata
    // A fragment states how long each packet lasts, an index only when the next one begins. And FFmpeg passes over the edit
    // list of a file of fragments, which stays as it is, and shifts the times of others by what it says.
    let mediaTimeOnly =
      ![.matroska, .webm].contains(container) && !options.mends.isDisjoint(with: [.unfragment, .salvage])
    let seed = UInt64.random(in: 0 ... .max)
    @Sendable func digests(
      _ descriptor: Descriptor, _ size: Int64, _ most: [Int64]?
    ) throws(MendError) -> [StreamDigest] {
      let options = MendRequest.DigestOptions(
        exclusion: exclusion, most: most, mediaTimeOnly: mediaTimeOnly,
        shapeCounts: options.mends.isDisjoint(with: [.rotation, .sampleAspectRatio]), seed: seed)
      let reply = try exchange(
        .digest(request(size, stored, container, looks: 2 * stored + 512 << 20), options), descriptor, nil,
        outputSize: nil, stored, cancellation)
      guard case .digests(let digests) = reply else { throw MendError(.garbled("another kind of answer")) }
      return digests
    }
    let source = try orMendError { () throws(ProbeError) in try Descriptor.reopening(file.handle) }
    let written = try Self.readable(output)
    let (before, after): ([StreamDigest], [StreamDigest])
    if options.mends.contains(.salvage) {
      // Of the source counts what is left of it.
      after = try digests(written, size, nil)
      before = try digests(source, file.size, after.map(\.packets))
    } else {
      (before, after) = try Self.both(
        { () throws(MendError) in try digests(source, file.size, nil) },
        { () throws(MendError) in try digests(written, size, nil) })
    }
    guard before.elementsEqual(after, by: { $0.holdsTheSame(as: $1) }),
      after.contains(where: { $0.packets > 0 })
    else { throw MendError(.notProven, Self.difference(before, after)) }
    if mediaTimeOnly, let number = Self.shifted(before, after) {
      throw MendError(
        .notProven,
        "mended, its stream \(number) would be shown earlier or later against the others" + Self.ending)
    }
    return after
  }

  private static func both<Value: Sendable>(
    _ first: @escaping @Sendable () throws(MendError) -> Value,
    _ second: @escaping @Sendable () throws(MendError) -> Value
  ) throws(MendError) -> (Value, Value) {
    let results = Mutex<[Int: Result<Value, MendError>]>([:])
    DispatchQueue.concurrentPerform(iterations: 2) { index in
      let result = Result { () throws(MendError) in try index == 0 ? first() : second() }
      results.withLock { $0[index] = result }
    }
    let found = results.withLock { $0 }
    guard let one = found[0], let other = found[1] else { throw MendError(.cancelled, "it was cancelled") }
    return (try one.get(), try other.get())
  }

  private static let ending = "; the mended file was thrown away, and the source is as it was"

  /// The first stream that begins at another time than it did against the first one that has a time: sound would be ahead
  /// of the picture, or behind it.
  package static func shifted(_ before: [StreamDigest], _ after: [StreamDigest]) -> Int? {
    let starts = zip(before, after).map { old, new in
      old.start.flatMap { old in new.start.map { (old: old, new: $0) } }
    }
    guard let first = starts.compactMap(\.self).first else { return nil }
    return starts.firstIndex { start in
      guard let start else { return false }
      let moved = Double(start.new) - Double(first.new) - (Double(start.old) - Double(first.old))
      // A millisecond: edit lists are rounded to the movie's clock.
      return abs(moved) > 1_000_000
    }
  }

  /// What is not the same, for people.
  private static func difference(_ before: [StreamDigest], _ after: [StreamDigest]) -> String {
    guard before.count == after.count else {
      return "mended it would have \(after.count) streams, not \(before.count)" + ending
    }
    for (number, (old, new)) in zip(before, after).enumerated() where !old.holdsTheSame(as: new) {
      let what =
        old.packets == new.packets
        ? "has other packets, times or parameters" : "has \(new.packets) packets, not \(old.packets)"
      return "mended, its stream \(number) (\(old.kind)) \(what)" + ending
    }
    return "it holds nothing that could be compared, only an index; the source is as it was"
  }

  // MARK: Workers

  private func exchange(
    _ request: MendRequest, _ descriptor: Descriptor, _ output: Descriptor?, outputSize: Int64?,
    _ stored: Int64, _ cancellation: CancellationFlag
  ) throws(MendError) -> MendReply {
    let starter = output == nil ? proving : starter
    var settings = starter.settings
    settings.outputSize = outputSize
    settings.deadline = deadline(for: stored)
    settings.limits.processorSeconds += Int(clamping: stored / (50 << 20))
    let ready = try orMendError { () throws(ProbeError) in
      try WorkerStarter(settings: settings, thread: starter.thread, breaker: starter.breaker)
        .start(FrameBuffer(), cancellation)
    }
    return try MendExchange(
      request: request, descriptor: descriptor, output: output, worker: ready.worker, settings: settings,
      cancellation: cancellation
    ).run()
  }

  /// Slow disks read and write 20 MB a second.
  private func deadline(for stored: Int64) -> Duration { settings.deadline + .seconds(stored / (20 << 20)) }

  private func request(
    _ size: Int64, _ stored: Int64, _ container: MediaContainer, looks: Int64
  ) -> ReadRequest {
    var settings = settings
    settings.deadline = deadline(for: stored)
    settings.limits.bytes = looks
    return settings.request(size: size, container: container)
  }

  private static func writable(_ output: Int32) throws(MendError) -> Descriptor {
    try reopened(output, O_WRONLY)
  }

  private static func readable(_ output: Int32) throws(MendError) -> Descriptor {
    try reopened(output, O_RDONLY)
  }

  private static func reopened(_ output: Int32, _ mode: Int32) throws(MendError) -> Descriptor {
    do throws(SystemError) {
      return Descriptor(
        adopting: try retryingInterrupts("open") {
          open("/proc/self/fd/\(output)", mode | O_CLOEXEC | O_NOCTTY)
        })
    } catch {
      throw MendError(.notWritten, "the mended file could not be handed to its writer (\(error.reason))")
    }
  }

  private static func size(of output: Int32) throws(MendError) -> Int64 {
    var status = stat()
    guard fstat(output, &status) == 0 else {
      throw MendError(
        .notWritten, "the mended file could not be looked at (\(SystemError.last("fstat").reason))")
    }
    return Int64(status.st_size)
  }
}

/// Puts a file on the disk, on a thread of its own.
private final class Syncing: Sendable {
  private let group = DispatchGroup()
  private let failure = Mutex<SystemError?>(nil)

  /// - Parameter file: stays open until ``wait()`` returns.
  init(_ file: Int32) {
    DispatchQueue(label: "reel.mend.sync").async(group: group) { [self] in
      // A failure is told once, so it counts although the file is synced again before it gets its name.
      if fdatasync(file) != 0, errno != EINVAL { failure.withLock { $0 = .last("fdatasync") } }
    }
  }

  func wait() throws(MendError) {
    group.wait()
    if let failure = failure.withLock({ $0 }) {
      throw MendError(.notWritten, "it could not be put on the disk (\(failure.reason)); check the disk")
    }
  }
}

func orMendError<Value>(_ body: () throws(ProbeError) -> Value) throws(MendError) -> Value {
  do throws(ProbeError) { return try body() } catch { throw MendError(error) }
}
