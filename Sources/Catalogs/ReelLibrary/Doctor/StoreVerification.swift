import ReelCore

/// Compares what the stores hold against what the catalog says was published: existence, length, digest.
///
/// It reads the catalog page by page and keeps nothing of the pages before, so a library of many posts takes no more
/// memory than a small one.
package struct StoreVerification: Sendable {
  /// A store's objects, and what keeps their posts.
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
  ///   - width: the number of objects that are looked at concurrently; at least 1.
  ///   - readsObjects: whether every object's bytes are read back and hashed. Otherwise a digest is compared only if
  ///     the store proves one.
  ///   - store: returns the store of that name, or nil for one that needs a secret that was not given; throws if this
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

  /// Verifies every published object of `destinations`, in the order of their names.
  ///
  /// - Parameters:
  ///   - destinations: nil for all that the catalog knows.
  ///   - tell: is awaited, so a slow listener slows the verification down instead of making it use more memory.
  /// - Throws: ``CatalogError`` if the catalog can't be read; `cancelled`.
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
        // If a bucket is gone, or a proxy has no store behind it, the answer "there is none" says nothing about an
        // object. A missing folder reports that itself, and must not be created.
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

  /// Returns the verdicts on `objects` in their order.
  /// - Throws: an error by which the store as a whole is unavailable; `cancelled`.
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

  /// Returns a failure if other objects would fare no better.
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

  /// Checks the record of a sound object.
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

/// The state of a post's object in its store.
package enum ObjectVerdict: Hashable, Sendable {
  /// It is there, with the right length and, if that was checked, the right digest; in a store
  /// that keeps posts, its record shows it.
  case sound(digestCompared: Bool, recordCompared: Bool = false)
  /// The store says that it has no such object.
  case missing
  /// The store holds this number of bytes instead.
  case otherLength(Int64)
  /// Its bytes are not those that were published.
  case otherBytes(ContentDigest)
  /// It is sound, but the store's database has no record of the post: viewers do not see it.
  case unrecorded
  /// It is sound, but the record under the post's id in the store's database shows another object, or none (nil).
  case recordShows(ObjectKey?)
  /// The store gave no answer, so whether the object is damaged is not known.
  case unknown(UploadError)

  /// The code for programs: `missing`, `truncated`, `longer`, `differs`, `unrecorded`, `misrecorded` or `unreadable`;
  /// nil if nothing is wrong.
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
  /// What to do if a folder has been moved; nil for any other store.
  package var moved: ErrorMessage? {
    isFolder ? "if it was moved, say so: \(command: "relocate \(name) NEW")" : nil
  }

  fileprivate var isFolder: Bool { name.hasPrefix("file:") }
}

/// An object of a post, and the verdict on it.
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

/// What a verification reports as it proceeds.
package enum VerificationEvent: Hashable, Sendable {
  case verified(VerifiedObject)
  /// A store could not be looked at, or no longer. Its other posts were not verified.
  case unreachable(Destination, UploadError)
  /// A store that needs a secret that was not given. It was not asked anything.
  case notLookedAt(Destination)

  /// Returns the same event, with its errors worded by `wording`.
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

/// The number of objects by verdict.
package struct VerificationCount: Hashable, Sendable, Encodable {
  private enum CodingKeys: String, CodingKey {
    case sound, digestsCompared, recordsCompared, damaged, unknown = "unreadable", unreachable, notLookedAt
  }
  /// Objects with nothing wrong, as far as was checked.
  package var sound = 0
  /// Of these, those whose digest was compared.
  package var digestsCompared = 0
  /// Of these, those whose record in the store's database was compared.
  package var recordsCompared = 0
  /// Objects that are missing, of another length, of other bytes, or not recorded properly.
  package var damaged = 0
  /// Objects about which the store gave no answer.
  package var unknown = 0
  /// Stores that could not be looked at.
  package var unreachable = 0
  /// Stores that were not looked at because they need a secret that was not given.
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
