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
    var last: ObjectKey?
    while true {
      let page = try await catalog.objects(in: destination, after: last, limit: Self.pageSize)
      guard let end = page.last else { return }
      last = end.key
      let published = page.filter { $0.state == .published }
      if published.isEmpty { continue }
      do throws(UploadError) {
        if opened == nil { opened = try await self.store(destination) }
        guard let store = opened else { return await tell(.notLookedAt(destination)) }
        for verified in try await look(at: published, in: store, destination) {
          await tell(.verified(verified))
        }
      } catch {
        if error.code == .cancelled { throw CatalogError(.cancelled, error.message) }
        return await tell(.unreachable(destination, error))
      }
    }
  }

  private static let pageSize = 256

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
    return record.video == object.key
      ? .sound(digestCompared: digestCompared, recordCompared: true) : .recordShows(record.video)
  }

  private func compared(
    _ object: ExaminedObject, _ store: any Uploader
  ) async throws(UploadError) -> ObjectVerdict {
    guard let found = try await store.find(object.key) else { return .missing }
    guard found.size == object.size else { return .otherLength(found.size) }
    if let digest = found.digest, digest != object.digest { return .otherBytes(digest) }
    guard readsObjects else { return .sound(digestCompared: found.digest != nil) }
    guard let digest = try await store.readBack(object.key) else { return .missing }
    return digest == object.digest ? .sound(digestCompared: true) : .otherBytes(digest)
  }
}
