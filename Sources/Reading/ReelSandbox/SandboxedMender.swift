import CReel
import Dispatch
import Glibc
import ReelCore
import ReelWire
import Synchronization

/// Mends files in confined processes, and proves that nothing else has become of them.
///
/// Three processes have a part in it, each of which has read nothing before, is handed one file, and ends with its answer:
/// one writes the mended file, one reads the source, and one reads what was written. Only where the last two say the same
/// of every packet is the mended file believed.
package struct SandboxedMender: MediaMender {
  private let writers: SandboxedProber
  private let provers: SandboxedProber
  private let isKept: Bool
  private var settings: WorkerSettings { writers.settings }

  /// - Parameters:
  ///   - prober: has the workers; it mends. Its deadline is for a small file; a large one may take longer.
  ///   - provers: has those that read for the proof; nil for the same.
  ///   - isKept: whether what is written goes to the disk while it is proved, because it stays there.
  package init(_ prober: SandboxedProber, provers: SandboxedProber? = nil, isKept: Bool = false) {
    writers = prober
    self.provers = provers ?? prober
    self.isKept = isKept
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
    let proof = Proof(
      mender: self, file: file, container: container, options: options, stored: stored,
      cancellation: CancellationFlag(parent: cancellation))
    // Of the source counts only what is left of it, where it was cut off.
    let readsSourceAtOnce = !options.mends.contains(.salvage)
    var before: Background<[StreamDigest]>?
    var syncing: Syncing?
    defer {
      // Nothing reads or syncs when this returns.
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

  /// The digests of what was written, which are those of the source.
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

    /// A fragment states how long each packet lasts, an index only when the next one begins. And FFmpeg passes over the
    /// edit list of a file of fragments, which stays as it is, and shifts the times of others by what it says.
    private var mediaTimeOnly: Bool {
      !container.isMatroska && !options.mends.isDisjoint(with: [.unfragment, .salvage])
    }

    /// Those of the source. Blocks.
    /// - Parameter most: of each stream that counts, only so many packets do; nil for all.
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

    /// Those of both. Blocks.
    /// - Parameter source: those of the source, where they are being taken.
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
          "mended, its stream \(number) would be shown earlier or later against the others" + ending)
      }
      return after
    }
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
    try rethrowing(
      as: { MendError(.notWritten, "the mended file could not be handed to its writer (\($0.reason))") }
    ) { () throws(SystemError) in try Descriptor(opening: "/proc/self/fd/\(output)", mode | O_NOCTTY) }
  }

  fileprivate static func size(of output: Int32) throws(MendError) -> Int64 {
    var status = stat()
    guard fstat(output, &status) == 0 else {
      throw MendError(
        .notWritten, "the mended file could not be looked at (\(SystemError.last("fstat").reason))")
    }
    return Int64(status.st_size)
  }
}

/// Something that is found out on a thread of its own.
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

  /// Blocks for it.
  func value() throws(MendError) -> Value {
    wait()
    guard let result = result.withLock({ $0 }) else { throw MendError(.cancelled, "it was cancelled") }
    return try result.get()
  }
}

/// Puts a file on the disk while it is written, on a thread of its own: what is left to be synced at the end is little.
private final class Syncing: Sendable {
  private let file: Int32
  private let group = DispatchGroup()
  private let written = DispatchSemaphore(value: 0)
  private let isAbandoned = Atomic(false)
  private let failure = Mutex<SystemError?>(nil)

  private static let pause = DispatchTimeInterval.milliseconds(20)

  /// - Parameter file: stays open until ``result()`` or ``abandon()`` returns.
  init(_ file: Int32) {
    self.file = file
    DispatchQueue(label: "reel.mend.sync").async(group: group) { [self] in
      var begun: Int64 = 0
      while written.wait(timeout: .now() + Self.pause) == .timedOut {
        guard let size = try? SandboxedMender.size(of: file), size > begun else { continue }
        // What fails is told by the sync.
        _ = reel_start_writing(file, off_t(begun), off_t(size - begun))
        begun = size
      }
      guard !isAbandoned.load(ordering: .acquiring) else { return }
      // A failure is told once, so it counts although the file is synced again before it gets its name.
      if fdatasync(file) != 0, errno != EINVAL { failure.withLock { $0 = .last("fdatasync") } }
    }
  }

  /// Nothing is written any more.
  func finish() { written.signal() }

  func abandon() {
    isAbandoned.store(true, ordering: .releasing)
    finish()
    group.wait()
  }

  /// Blocks until it is on the disk.
  func result() throws(MendError) {
    group.wait()
    if let failure = failure.withLock({ $0 }) {
      throw MendError(.notWritten, "it could not be put on the disk (\(failure.reason)); check the disk")
    }
  }
}

func orMendError<Value>(_ body: () throws(ProbeError) -> Value) throws(MendError) -> Value {
  do throws(ProbeError) { return try body() } catch { throw MendError(error) }
}
