import CReel
import Dispatch
import Glibc
import ReelCore
import ReelWire
import Synchronization

/// Mends files in confined processes, and proves that nothing else in them has changed.
///
/// Three processes take part. Each has read nothing before, receives one file, and ends with its answer: the first
/// writes the mended file, the second reads the source, and the third reads what was written. The mended file is
/// accepted only if the last two agree on every packet.
package struct SandboxedMender: MediaMender {
  private let writers: SandboxedProber
  private let provers: SandboxedProber
  private let isKept: Bool
  private var settings: WorkerSettings { writers.settings }

  /// - Parameters:
  ///   - prober: Provides the worker that mends. Its deadline is meant for a small file; a large one may take
  ///     longer.
  ///   - provers: Provides the workers that read for the proof; nil to use the same.
  ///   - isKept: Whether the output is written to disk while it is being proved, because it will be kept there.
  package init(_ prober: SandboxedProber, provers: SandboxedProber? = nil, isKept: Bool = false) {
    writers = prober
    self.provers = provers ?? prober
    self.isKept = isKept
  }

  /// Mends `file`, and proves the result. Blocks.
  /// - Parameter output: An empty file, open for reading and writing; it stays open. If this throws, its content is
  ///   useless.
  /// - Throws: `notMendable`, `notProven`, `notWritten`, the errors for files that cannot be read, `cancelled`.
  package func mend(
    _ file: SourceFile, _ options: MendOptions, into output: Int32, cancellation: CancellationFlag
  ) throws(MendError) -> MendOutcome {
    let container = try orMendError { () throws(ProbeError) in try FirstBytes.container(of: file) }
    let source = try orMendError { () throws(ProbeError) in try Descriptor.reopening(file.handle) }
    // Holes take no time to read, and so extend no limit.
    let stored = min(file.size, file.handle.storedBytes() ?? file.size, .max >> 4)
    let proof = Proof(
      mender: self, file: file, container: container, options: options, stored: stored,
      cancellation: CancellationFlag(parent: cancellation))
    // Of a source that was cut off, only the part that can be salvaged is compared, so it is read after the output.
    let readsSourceAtOnce = !options.mends.contains(.salvage)
    var before: Background<[StreamDigest]>?
    var syncing: Syncing?
    defer {
      // Nothing may read or sync any longer when this returns.
      proof.cancellation.set()
      before?.wait()
      syncing?.abandon()
    }
    let writable = try Self.writable(output)
    let reply = try exchange(
      .mend(request(file.size, stored, container, looks: 512 << 20), options), source, writable,
      outputSize: min(file.size, .max >> 2) / 4 * 5 + 64 << 20, stored, cancellation
    ) {
      if readsSourceAtOnce { before = Background { () throws(MendError) in try proof.source(most: nil) } }
      if isKept { syncing = Syncing(output) }
    }
    guard case .mended(let done, let size) = reply else {
      throw MendError(.garbled("another kind of answer"))
    }
    guard !done.isEmpty else { return MendOutcome(done: [], size: 0, pictures: 0, end: nil) }
    guard done.isSubset(of: options.mends.union([.unfragment])), try Self.size(of: output) == size, size > 0
    else { throw MendError(.garbled("it did not write what it said")) }
    if isKept, syncing == nil { syncing = Syncing(output) }
    syncing?.finish()
    let result = try proof.holds(output, size, before)
    try syncing?.result()
    let pictures = result.filter { $0.kind == .video }.reduce(0) { $0 + $1.packets }
    let shown = result.filter { $0.kind == .video || $0.kind == .audio }
    let end = shown.compactMap(\.end).max().map { Double($0) / 1e9 }
    return MendOutcome(done: done, size: size, pictures: pictures, end: end)
  }

  // MARK: Proof

  /// Proves that the digests of the output equal those of the source.
  private struct Proof: Sendable {
    let mender: SandboxedMender
    let file: SourceFile
    let container: MediaContainer
    let options: MendOptions
    let stored: Int64
    let cancellation: CancellationFlag
    private let seed = UInt64.random(in: 0 ... .max)

    init(
      mender: SandboxedMender, file: SourceFile, container: MediaContainer, options: MendOptions,
      stored: Int64, cancellation: CancellationFlag
    ) {
      (self.mender, self.file, self.container) = (mender, file, container)
      (self.options, self.stored, self.cancellation) = (options, stored, cancellation)
    }

    private var exclusion: StreamDigest.Options.Exclusion {
      options.mends.contains(.data)
        ? .data : options.mends.isDisjoint(with: [.location, .privateTags]) ? .nothing : .timedMetadata
    }

    /// A fragment states the duration of each packet, an index only when the next one begins. In addition, FFmpeg
    /// ignores the edit list of a fragmented file, which is kept unchanged, but shifts the times of other files by
    /// it.
    private var mediaTimeOnly: Bool {
      !container.isMatroska && !options.mends.isDisjoint(with: [.unfragment, .salvage])
    }

    /// Computes the digests of the source. Blocks.
    /// - Parameter most: For each included stream, how many packets are included; nil for all.
    func source(most: [Int64]?) throws(MendError) -> [StreamDigest] {
      let source = try orMendError { () throws(ProbeError) in try Descriptor.reopening(file.handle) }
      return try digests(source, file.size, most)
    }

    private func digests(
      _ descriptor: Descriptor, _ size: Int64, _ most: [Int64]?
    ) throws(MendError) -> [StreamDigest] {
      let options = StreamDigest.Options(
        exclusion: exclusion, most: most, mediaTimeOnly: mediaTimeOnly,
        shapeCounts: options.mends.isDisjoint(with: [.rotation, .sampleAspectRatio]),
        metadataCounts: options.mends.isDisjoint(with: [.location, .privateTags, .credentials]), seed: seed)
      let reply = try mender.exchange(
        .digest(mender.request(size, stored, container, looks: 2 * stored + 512 << 20), options), descriptor,
        nil, outputSize: nil, stored, cancellation)
      guard case .digests(let digests) = reply else { throw MendError(.garbled("another kind of answer")) }
      return digests
    }

    /// Compares the digests of both files, and returns those of the output. Blocks.
    /// - Parameter source: The digests of the source, if they are already being computed.
    /// - Throws: `notProven`.
    func holds(
      _ output: Int32, _ size: Int64, _ source: Background<[StreamDigest]>?
    ) throws(MendError) -> [StreamDigest] {
      let after = try digests(try readable(output), size, nil)
      let before =
        if let source { try source.value() } else {
          try self.source(most: options.mends.contains(.salvage) ? after.map(\.packets) : nil)
        }
      guard before.elementsEqual(after, by: { $0.holdsTheSame(as: $1) }),
        after.contains(where: { $0.packets > 0 })
      else { throw MendError(.notProven, difference(before, after)) }
      if mediaTimeOnly, let number = shifted(before, after) {
        throw MendError(
          .notProven,
          "after mending, its stream \(number) would be out of sync with the others" + ending)
      }
      return after
    }
  }

  private static let ending = "; the mended file was discarded, and the source is unchanged"

  /// The first stream whose start has moved relative to the first stream that has a start time, so that sound would
  /// be ahead of the picture, or behind it; nil if there is none.
  package static func shifted(_ before: [StreamDigest], _ after: [StreamDigest]) -> Int? {
    let starts = zip(before, after).map { old, new in
      old.start.flatMap { old in new.start.map { (old: old, new: $0) } }
    }
    guard let first = starts.compactMap(\.self).first else { return nil }
    return starts.firstIndex { start in
      guard let start else { return false }
      let moved = Double(start.new) - Double(first.new) - (Double(start.old) - Double(first.old))
      // Tolerate a millisecond: edit lists are rounded to the movie's time scale.
      return abs(moved) > 1_000_000
    }
  }

  /// Describes the difference, for people.
  private static func difference(_ before: [StreamDigest], _ after: [StreamDigest]) -> String {
    guard before.count == after.count else {
      return "after mending, it would have \(after.count) streams, not \(before.count)" + ending
    }
    for (number, (old, new)) in zip(before, after).enumerated() where !old.holdsTheSame(as: new) {
      let what =
        old.packets == new.packets
        ? "has different packets, times or parameters" : "has \(new.packets) packets, not \(old.packets)"
      return "after mending, its stream \(number) (\(old.kind)) \(what)" + ending
    }
    return "it holds nothing that could be compared, only an index; the source is as it was"
  }

  // MARK: Workers

  private func exchange(
    _ question: MendRequest, _ descriptor: Descriptor, _ output: Descriptor?, outputSize: Int64?,
    _ stored: Int64, _ cancellation: CancellationFlag, onWriting: @escaping () -> Void = {}
  ) throws(MendError) -> MendReply {
    var settings = settings
    settings.deadline = deadline(for: stored)
    settings.limits.processorSeconds += Int(clamping: stored / (50 << 20))
    let request = settings.fork(outputSize.map { .mending(outputSize: $0) } ?? .reading)
    let ready = try orMendError { () throws(ProbeError) in
      try (output == nil ? provers : writers).freshWorker(request, cancellation)
    }
    return try MendExchange(
      request: question, descriptor: descriptor, output: output, worker: ready.worker, settings: settings,
      cancellation: cancellation, onWriting: onWriting
    ).run()
  }

  /// Slow disks read and write 20 MB per second.
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
    try rethrowing(
      as: { MendError(.notWritten, "the mended file could not be handed to its writer (\($0.reason))") }
    ) { () throws(SystemError) in try Descriptor(opening: "/proc/self/fd/\(output)", mode | O_NOCTTY) }
  }

  fileprivate static func size(of output: Int32) throws(MendError) -> Int64 {
    var status = stat()
    guard fstat(output, &status) == 0 else {
      throw MendError(
        .notWritten, "the mended file could not be examined (\(SystemError.last("fstat").reason))")
    }
    return Int64(status.st_size)
  }
}

/// A computation on a thread of its own.
private final class Background<Value: Sendable>: Sendable {
  private let group = DispatchGroup()
  private let result = Mutex<Result<Value, MendError>?>(nil)

  init(_ body: @escaping @Sendable () throws(MendError) -> Value) {
    DispatchQueue(label: "reel.mend").async(group: group) { [self] in
      let found = Result { () throws(MendError) in try body() }
      result.withLock { $0 = found }
    }
  }

  func wait() { group.wait() }

  /// Returns its result. Blocks.
  func value() throws(MendError) -> Value {
    wait()
    guard let result = result.withLock({ $0 }) else { throw MendError(.cancelled, "it was cancelled") }
    return try result.get()
  }
}

/// Writes a file to disk while it is growing, on a thread of its own, so that little is left to sync at the end.
private final class Syncing: Sendable {
  private let file: Int32
  private let group = DispatchGroup()
  private let written = DispatchSemaphore(value: 0)
  private let isAbandoned = Atomic(false)
  private let failure = Mutex<SystemError?>(nil)

  private static let pause = DispatchTimeInterval.milliseconds(20)

  /// - Parameter file: Stays open until ``result()`` or ``abandon()`` returns.
  init(_ file: Int32) {
    self.file = file
    DispatchQueue(label: "reel.mend.sync").async(group: group) { [self] in
      var begun: Int64 = 0
      while written.wait(timeout: .now() + Self.pause) == .timedOut {
        guard let size = try? SandboxedMender.size(of: file), size > begun else { continue }
        // Any error is reported by the sync below.
        _ = reel_start_writing(file, off_t(begun), off_t(size - begun))
        begun = size
      }
      guard !isAbandoned.load(ordering: .acquiring) else { return }
      // The kernel reports an error only once, so this one counts even though the file is synced again before it
      // gets its name.
      if fdatasync(file) != 0, errno != EINVAL { failure.withLock { $0 = .last("fdatasync") } }
    }
  }

  /// Call this when nothing more will be written.
  func finish() { written.signal() }

  func abandon() {
    isAbandoned.store(true, ordering: .releasing)
    finish()
    group.wait()
  }

  /// Waits until the file is on disk. Blocks.
  func result() throws(MendError) {
    group.wait()
    if let failure = failure.withLock({ $0 }) {
      throw MendError(.notWritten, "it could not be written to disk (\(failure.reason)); check the disk")
    }
  }
}

func orMendError<Value>(_ body: () throws(ProbeError) -> Value) throws(MendError) -> Value {
  do throws(ProbeError) { return try body() } catch { throw MendError(error) }
}
