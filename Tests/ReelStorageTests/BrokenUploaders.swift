import ReelCore
import ReelCrypto
import Synchronization

/// A store that keeps its promises except for one typical mistake.
final class BrokenUploader: Uploader {
  enum Mistake: String, CaseIterable, Sendable {
    case overwrites, leavesPartsOnThrow, showsPartsMidway, liesAboutSize, liesAboutKey, dropsTheEnd
    case swallowsSourceErrors, trustsTheLength, neverHashes, readsPastTheEnd, ignoresCancellation
    case looksThenCreates, progressFalls, progressStopsShort, progressOverflows, reportsEveryKilobyte
    case findThrowsForNothing, removeThrowsForNothing, removeDoesNothing, removesByPrefix, foldsCase
    case removesOnce, looksThenRemoves, removesInSecret, leavesSomethingUnsaid
    case prepareEmptiesTheStore, wrongCodeForExisting, changingDestination, forgetsOtherUploaders,
      silentMessages
  }

  /// The state shared by the uploaders of one store.
  final class Store: Sendable {
    let objects = Mutex<[String: [UInt8]]>([:])
    let removed = Mutex<Set<String>>([])
    let uploaders = Atomic<Int>(0)
    private let lookers = Mutex<[String: Int]>([:])

    /// Brings racing uploaders together after each has checked that the name is free. The first waits until a second
    /// has arrived; later ones wait until `isOver`. An uploader that remains alone continues after 100 checks.
    func meet(_ name: String, until isOver: (Store) -> Bool) async {
      let place = lookers.withLock { lookers in
        lookers[name, default: 0] += 1
        return lookers[name] ?? 1
      }
      for _ in 0..<100 {
        if place == 1 ? lookers.withLock({ ($0[name] ?? 0) > 1 }) : isOver(self) { return }
        try? await Task.sleep(for: .milliseconds(2))
      }
    }
  }

  let mistake: Mistake?
  private let store: Store
  private let number: Int

  init(_ mistake: Mistake?, store: Store) {
    self.mistake = mistake
    self.store = mistake == .forgetsOtherUploaders ? Store() : store
    number = store.uploaders.add(1, ordering: .relaxed).newValue
  }

  var traits: UploadTraits {
    UploadTraits(
      atomicCreate: true, resumable: false, verifiesChecksums: false, durable: false,
      removes: mistake != .removesInSecret)
  }
  var destination: Destination {
    Destination(mistake == .changingDestination ? "test:\(number)" : "test:store")
  }

  func prepare() async throws(UploadError) {
    if mistake == .prepareEmptiesTheStore { store.objects.withLock { $0 = [:] } }
  }

  func upload(
    _ source: UploadSource, to key: ObjectKey, reporting: @escaping @Sendable (TransferProgress) -> Void
  ) async throws(UploadError) -> StoredObject {
    if Task.isCancelled, mistake != .ignoresCancellation { throw UploadError(.cancelled, "cancelled") }
    let isTaken = store.objects.withLock { $0[name(key)] != nil }
    if isTaken, mistake != .overwrites { throw taken }
    if mistake == .looksThenCreates {
      await store.meet("create " + name(key)) { _ in true }
    }
    let bytes: [UInt8]
    do throws(UploadError) {
      bytes = try read(source, key, reporting)
    } catch {
      if mistake != .leavesPartsOnThrow { forgetPart(key) }
      throw error
    }
    try create(key, bytes)
    return StoredObject(
      key: mistake == .liesAboutKey ? ObjectKey("other.mp4") ?? key : key, url: "test:" + key.rawValue,
      size: source.size + (mistake == .liesAboutSize ? 1 : 0), digest: nil)
  }

  func find(_ key: ObjectKey) async throws(UploadError) -> StoredObject? {
    guard let bytes = store.objects.withLock({ $0[name(key)] }) else {
      if mistake == .findThrowsForNothing { throw UploadError(.rejected, "404") }
      return nil
    }
    return StoredObject(key: key, url: "test:" + key.rawValue, size: Int64(bytes.count), digest: nil)
  }

  func remove(_ key: ObjectKey) async throws(UploadError) -> ObjectRemoval {
    let isThere = store.objects.withLock { $0[name(key)] != nil }
    if !isThere, mistake == .removeThrowsForNothing { throw UploadError(.rejected, "404") }
    let isFirst = store.removed.withLock { $0.insert(name(key)).inserted }
    if !isFirst, mistake == .removesOnce { throw UploadError(.rejected, "410") }
    if isThere, mistake == .looksThenRemoves {
      let named = name(key)
      await store.meet("remove " + named) { store in store.objects.withLock { $0[named] == nil } }
      if store.objects.withLock({ $0[name(key)] == nil }) { throw UploadError(.rejected, "404") }
    }
    store.objects.withLock { objects in
      switch mistake {
      case .removeDoesNothing: break
      case .removesByPrefix: objects = objects.filter { !$0.key.hasPrefix(key.rawValue) }
      default: objects[name(key)] = nil
      }
    }
    return mistake == .leavesSomethingUnsaid ? ObjectRemoval(remains: "") : .gone
  }

  func readBack(_ key: ObjectKey) async throws(UploadError) -> ContentDigest? {
    store.objects.withLock { $0[name(key)] }.flatMap { ContentDigest(sha256: SHA256.hash(data: $0)) }
  }
}

extension BrokenUploader {
  private func name(_ key: ObjectKey) -> String {
    mistake == .foldsCase ? key.rawValue.lowercased() : key.rawValue
  }

  private var taken: UploadError {
    UploadError(
      mistake == .wrongCodeForExisting ? .rejected : .alreadyExists,
      mistake == .silentMessages ? "" : "it is there")
  }

  private func create(_ key: ObjectKey, _ bytes: [UInt8]) throws(UploadError) {
    let isMine = store.objects.withLock { objects in
      let showsParts = mistake == .showsPartsMidway || mistake == .leavesPartsOnThrow
      let mayReplace = showsParts || mistake == .overwrites || mistake == .looksThenCreates
      if objects[name(key)] != nil, !mayReplace { return false }
      objects[name(key)] = mistake == .dropsTheEnd ? bytes.dropLast() : bytes
      return true
    }
    if !isMine { throw taken }
  }

  private func forgetPart(_ key: ObjectKey) {
    if mistake == .showsPartsMidway { store.objects.withLock { $0[name(key)] = nil } }
  }

  private func read(
    _ source: UploadSource, _ key: ObjectKey, _ reporting: @Sendable (TransferProgress) -> Void
  ) throws(UploadError) -> [UInt8] {
    var bytes: [UInt8] = []
    var nextReport = 1 << 20
    while mistake != .trustsTheLength || bytes.count < source.size {
      if Task.isCancelled, mistake != .ignoresCancellation { throw UploadError(.cancelled, "cancelled") }
      let piece = try piece(source, bytes.count)
      if piece.isEmpty { break }
      bytes += piece
      if mistake == .leavesPartsOnThrow || mistake == .showsPartsMidway {
        store.objects.withLock { $0[name(key)] = bytes }
      }
      if bytes.count >= nextReport {
        report(bytes.count, source, reporting)
        nextReport = bytes.count + 1 << 20
      }
    }
    try check(bytes, source)
    if mistake != .progressStopsShort { report(Int(source.size), source, reporting) }
    return bytes
  }

  private func piece(_ source: UploadSource, _ offset: Int) throws(UploadError) -> [UInt8] {
    let most = mistake == .trustsTheLength ? min(1 << 18, Int(source.size) - offset) : 1 << 18
    var buffer = [UInt8](repeating: 0, count: most)
    do {
      let count = try buffer.withUnsafeMutableBytes { try source.bytes.read(into: $0, at: Int64(offset)) }
      return Array(buffer.prefix(count))
    } catch {
      if mistake == .swallowsSourceErrors { return [] }
      throw UploadError(.sourceUnreadable, "the source broke")
    }
  }

  private func check(_ bytes: [UInt8], _ source: UploadSource) throws(UploadError) {
    let changed = UploadError(.sourceChanged, "the source changed")
    let isLong = Int64(bytes.count) > source.size
    let isShort = Int64(bytes.count) < source.size
    if isShort && mistake != .swallowsSourceErrors { throw changed }
    if isLong && mistake != .readsPastTheEnd { throw changed }
    if isLong || isShort || mistake == .neverHashes { return }
    if SHA256.hash(data: bytes) != source.digest.bytes { throw changed }
  }

  private func report(
    _ sent: Int, _ source: UploadSource, _ reporting: @Sendable (TransferProgress) -> Void
  ) {
    let shown = mistake == .progressOverflows ? Int64(sent) + 1 : Int64(sent)
    let times = mistake == .reportsEveryKilobyte ? 1024 : 1
    for _ in 0..<times { reporting(TransferProgress(sent: shown, total: source.size)) }
    if mistake == .progressFalls { reporting(TransferProgress(sent: shown / 2, total: source.size)) }
    if mistake == .progressFalls { reporting(TransferProgress(sent: shown, total: source.size)) }
  }
}
