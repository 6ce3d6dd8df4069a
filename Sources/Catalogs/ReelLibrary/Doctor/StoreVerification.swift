import ReelCore

/// Holds what the stores have against what the catalog says was published: existence, length, digest.
///
/// Goes through the catalog by pages and keeps nothing of what it has passed, so a library of many posts takes no
/// more memory than a small one.
package struct StoreVerification: Sendable {
  /// Where objects are, and what keeps their posts.
  package struct Store: Sendable {
    let uploader: any Uploader
    let recorder: (any PostRecorder)?

    /// - Parameter recorder: nil for a store that keeps no posts.
    package init(_ uploader: any Uploader, recorder: (any PostRecorder)? = nil) {
      self.uploader = uploader
      self.recorder = recorder
    }
  }

  private let catalog: any CatalogExamination
  private let width: Int
  private let readsObjects: Bool
  private let store: @Sendable (Destination) async throws(UploadError) -> Store?

  /// - Parameters:
  ///   - width: objects looked at, at once; at least 1.
  ///   - readsObjects: whether every object's bytes are read back and hashed. Without it a digest is compared only
  ///     where the store proves one.
  ///   - store: the store of that name; nil for one that needs a secret, where none was given for it; throws when this
  ///     installation can't reach such a store.
  package init(
    catalog: any CatalogExamination, width: Int = 8, readsObjects: Bool = false,
    store: @escaping @Sendable (Destination) async throws(UploadError) -> Store?
  ) {
    self.catalog = catalog
    self.width = max(1, width)
    self.readsObjects = readsObjects
    self.store = store
  }

  /// Looks at every published object of `destinations`, in the order of their names.
  ///
  /// - Parameters:
  ///   - destinations: nil for all that the catalog knows.
  ///   - tell: is awaited: a slow listener makes the verification slow, not large.
  /// - Throws: ``CatalogError`` when the catalog can't be read; `cancelled`.
  package func run(
    _ destinations: [Destination]? = nil, tell: (VerificationEvent) async -> Void
  ) async throws(CatalogError) {
    let known = try await catalog.destinations()
    for destination in known where destinations?.contains(destination) ?? true {
      try await verify(destination, tell)
    }
  }

  private func verify(
    _ destination: Destination, _ tell: (VerificationEvent) async -> Void
  ) async throws(CatalogError) {
    var opened: Store?
    var hasAnswered = false
    var pages = ExaminedPages(catalog: catalog, destination: destination, size: 256)
    while let page = try await pages.next() {
      let published = page.filter { $0.state == .published }
      if published.isEmpty { continue }
      do throws(UploadError) {
        if opened == nil { opened = try await self.store(destination) }
        guard let store = opened else { return await tell(.notLookedAt(destination)) }
        let verified = try await look(at: published, in: store, destination)
        // Of a bucket that is gone, or a proxy without the store behind it, "there is none" says nothing of an object. A
        // folder that is not there says so itself, and is not to be made.
        if !hasAnswered, !destination.isFolder, verified.contains(where: { $0.verdict == .missing }) {
          try await store.uploader.prepare()
          hasAnswered = true
        }
        for verified in verified { await tell(.verified(verified)) }
      } catch {
        if error.code == .cancelled { throw CatalogError(.cancelled, error.text) }
        return await tell(.unreachable(destination, error))
      }
    }
  }

  /// The verdicts on `objects` in their order.
  /// - Throws: what says that the store as a whole is not to be had; `cancelled`.
  private func look(
    at objects: [ExaminedObject], in store: Store, _ destination: Destination
  ) async throws(UploadError) -> [VerifiedObject] {
    let result = await withTaskGroup(of: (Int, Result<ObjectVerdict, UploadError>).self) { group in
      var verdicts = [Result<ObjectVerdict, UploadError>?](repeating: nil, count: objects.count)
      var next = 0
      var running = 0
      var problem: UploadError?
      while true {
        while next < objects.count, problem == nil, running < width {
          let (index, object) = (next, objects[next])
          group.addTask { (index, await verdict(on: object, in: store)) }
          next += 1
          running += 1
        }
        guard let (index, verdict) = await group.next() else { break }
        running -= 1
        verdicts[index] = verdict
        if case .failure(let error) = verdict {
          problem = problem ?? error
          group.cancelAll()
        }
      }
      return (verdicts, problem)
    }
    if let problem = result.1 { throw problem }
    return zip(objects, result.0).compactMap { object, verdict in
      guard case .success(let verdict) = verdict else { return nil }
      return VerifiedObject(object, in: destination, verdict: verdict)
    }
  }

  /// A failure when no other object will fare better.
  private func verdict(
    on object: ExaminedObject, in store: Store
  ) async -> Result<ObjectVerdict, UploadError> {
    do throws(UploadError) {
      return .success(try await recorded(object, try await compared(object, store.uploader), store.recorder))
    } catch {
      let endsIt = error.code.endsTheRun || error.code == .cancelled
      return endsIt ? .failure(error) : .success(.unknown(error))
    }
  }

  /// The record of an object that is sound.
  private func recorded(
    _ object: ExaminedObject, _ verdict: ObjectVerdict, _ recorder: (any PostRecorder)?
  ) async throws(UploadError) -> ObjectVerdict {
    guard let recorder, case .sound(let digestCompared, _) = verdict else { return verdict }
    guard let record = try await recorder.find(object.id) else { return .unrecorded }
    let shown = object.kind == .video ? record.video : record.poster
    return shown == object.key
      ? .sound(digestCompared: digestCompared, recordCompared: true) : .recordShows(shown)
  }

  private func compared(
    _ object: ExaminedObject, _ store: any Uploader
  ) async throws(UploadError) -> ObjectVerdict {
    guard let found = try await store.find(object.key) else { return .missing }
    guard found.size == object.size else { return .otherLength(found.size) }
    if let digest = found.digest, digest != object.digest { return .otherBytes(digest) }
    guard readsObjects else { return .sound(digestCompared: found.digest != nil) }
    let digest = try await store.readFound(object.key)
    return digest == object.digest ? .sound(digestCompared: true) : .otherBytes(digest)
  }
}

/// How a post's object stands in its store.
package enum ObjectVerdict: Hashable, Sendable {
  /// There, as long as it should be, and, where that was found out, with the right digest; and shown by its record,
  /// in a store that keeps posts.
  case sound(digestCompared: Bool, recordCompared: Bool = false)
  /// The store says that there is none.
  case missing
  /// Bytes that the store holds instead.
  case otherLength(Int64)
  /// Its bytes are not those that were published.
  case otherBytes(ContentDigest)
  /// It is sound, but the store's database has no record of the post: viewers do not see it.
  case unrecorded
  /// It is sound, but what the store's database has under the post's id shows another object, or none (nil).
  case recordShows(ObjectKey?)
  /// The store did not tell; whether it is damaged is not known.
  case unknown(UploadError)

  /// For programs: `missing`, `truncated`, `longer`, `differs`, `unrecorded`, `misrecorded`, `unreadable`; nil when nothing is wrong.
  package func code(expecting size: Int64) -> String? {
    switch self {
    case .sound: nil
    case .missing: "missing"
    case .otherLength(let found): found < size ? "truncated" : "longer"
    case .otherBytes: "differs"
    case .unrecorded: "unrecorded"
    case .recordShows: "misrecorded"
    case .unknown: "unreadable"
    }
  }
}

extension Destination {
  /// What to do when a folder is not where it was; nil for another store.
  package var moved: ErrorMessage? {
    isFolder ? "if it was moved, say so: \(command: "relocate \(name) NEW")" : nil
  }

  fileprivate var isFolder: Bool { name.hasPrefix("file:") }
}

/// A post whose object was looked at.
package struct VerifiedObject: Hashable, Sendable {
  package let object: ExaminedObject
  package let destination: Destination
  package let verdict: ObjectVerdict

  package init(_ object: ExaminedObject, in destination: Destination, verdict: ObjectVerdict) {
    self.object = object
    self.destination = destination
    self.verdict = verdict
  }
}

/// What a verification says, as it goes.
package enum VerificationEvent: Hashable, Sendable {
  case verified(VerifiedObject)
  /// A store could not be looked at, or no longer: its other posts were not looked at.
  case unreachable(Destination, UploadError)
  /// A store that needs a secret, and none was given for it: nothing was asked of it.
  case notLookedAt(Destination)

  /// The same, with errors in the words that `wording` has for them.
  package func worded(_ wording: (ErrorMessage) -> String) -> VerificationEvent {
    switch self {
    case .unreachable(let store, let error): return .unreachable(store, error.worded(wording))
    case .verified(let verified):
      guard case .unknown(let error) = verified.verdict else { return self }
      return .verified(
        VerifiedObject(verified.object, in: verified.destination, verdict: .unknown(error.worded(wording))))
    case .notLookedAt: return self
    }
  }
}

/// How many objects stand how.
package struct VerificationCount: Hashable, Sendable, Encodable {
  private enum CodingKeys: String, CodingKey {
    case sound, digestsCompared, recordsCompared, damaged, unknown = "unreadable", unreachable, notLookedAt
  }
  /// Nothing is wrong with them, as far as was looked.
  package var sound = 0
  /// Of these, those whose digest was compared.
  package var digestsCompared = 0
  /// Of these, those whose record in the store's database was compared.
  package var recordsCompared = 0
  /// Missing, of another length, other bytes, or not recorded.
  package var damaged = 0
  /// The store did not tell.
  package var unknown = 0
  /// Stores that could not be looked at.
  package var unreachable = 0
  /// Stores that were not looked at, for want of a secret that was given for them.
  package var notLookedAt = 0

  package init() {}

  package var objects: Int { sound + damaged + unknown }

  package mutating func add(_ event: VerificationEvent) {
    switch event {
    case .unreachable: unreachable += 1
    case .notLookedAt: notLookedAt += 1
    case .verified(let verified):
      switch verified.verdict {
      case .sound(let digest, let record):
        sound += 1
        digestsCompared += digest ? 1 : 0
        recordsCompared += record ? 1 : 0
      case .missing, .otherLength, .otherBytes, .unrecorded, .recordShows: damaged += 1
      case .unknown: unknown += 1
      }
    }
  }
}
