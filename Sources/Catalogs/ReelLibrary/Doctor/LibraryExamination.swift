import FoundationEssentials
import ReelCore

/// An examination of a library and its stores. Changes nothing.
package struct LibraryExamination: Sendable {
  /// A store that can be examined as well as used.
  package typealias Store = any Uploader & StoreExamination

  let catalog: any CatalogExamination
  let stores: @Sendable (Destination) async throws(UploadError) -> Store?
  let clock: any WallClock
  let grace: Duration
  let readsObjects: Bool

  /// - Parameters:
  ///   - stores: returns the store of that name, or nil for one that can't be listed;
  ///     throws for one that can't be reached.
  ///   - grace: how long an intent that no process works on, and its object, is left alone.
  ///   - readsObjects: whether the stored bytes are read and hashed, not only their length checked.
  package init(
    catalog: any CatalogExamination, clock: any WallClock = SystemWallClock(),
    grace: Duration = .seconds(86_400), readsObjects: Bool = false,
    stores: @escaping @Sendable (Destination) async throws(UploadError) -> Store?
  ) {
    self.catalog = catalog
    self.stores = stores
    self.clock = clock
    self.grace = grace
    self.readsObjects = readsObjects
  }

  /// Returns everything that is wrong, and the number of objects that were looked at.
  /// - Throws: ``CatalogError`` if the catalog can't be read for a reason other than damage.
  package func run() async throws(CatalogError) -> (findings: [Finding], objects: Int) {
    do throws(CatalogError) {
      let damage = try await catalog.damage()
      guard damage.isEmpty else { return (damage.map { Finding.damaged(ErrorMessage($0)) }, 0) }
      var findings = try await catalog.owners().compactMap(Finding.init)
      if let catalog = catalog as? any PostChanging {
        let left = try await BlockingQueue(label: "reel.examination", width: 1).run {
          () throws(CatalogError) in try catalog.abandonedChanges()
        }
        findings += left.map { Finding.unfinished($0.kind, of: $0.post) }
      }
      var count = 0
      for destination in try await catalog.destinations() {
        let (found, objects) = try await examine(destination)
        findings += found
        count += objects
      }
      return (findings, count)
    } catch  where error.code == .corrupt {
      return ([.damaged(error.text)], 0)
    }
  }

  private func examine(_ destination: Destination) async throws(CatalogError) -> ([Finding], Int) {
    let beginning: StoreScan?
    do throws(UploadError) {
      beginning = try await begin(destination)
    } catch {
      return ([.unreachable(destination, error)], 0)
    }
    guard let beginning else { return (try await unlistable(destination), 0) }
    var (scan, parts) = (beginning, StoreParts(beginning.store))
    while true {
      let part: StorePart?
      do throws(UploadError) {
        part = try await parts.next()
      } catch {
        return ([.unreachable(destination, error)], 0)
      }
      guard let part else { break }
      if part.isWhole { scan = beginning }
      scan.begin(part)
      // The rows are read after the part, so that every object in the part has its row by then.
      var pages = ExaminedPages(catalog: catalog, destination: destination, size: 1000, last: scan.last)
      while let page = try await pages.next(), await scan.compare(page) {}
      scan.endPart()
    }
    return (scan.findings + scan.unknown, scan.count)
  }

  /// Returns nil for a store that can't be listed.
  private func begin(_ destination: Destination) async throws(UploadError) -> StoreScan? {
    guard let store = try await stores(destination) else { return nil }
    return StoreScan(
      store: store, now: clock.now(), grace: grace, readsObjects: readsObjects,
      findings: try await store.leftovers().map(Finding.leftOver))
  }

  private func unlistable(_ destination: Destination) async throws(CatalogError) -> [Finding] {
    var findings = [Finding.unlistable(destination)]
    var pages = ExaminedPages(catalog: catalog, destination: destination)
    while let page = try await pages.next() {
      findings += page.filter { $0.state == .givenUp }.map { .givenUpUnseen($0, in: destination) }
    }
    return findings
  }
}

/// The objects that rows name in one store, by key, a page at a time.
struct ExaminedPages {
  let catalog: any CatalogExamination
  let destination: Destination
  var size = 500
  var last: ObjectKey?

  mutating func next() async throws(CatalogError) -> [ExaminedObject]? {
    let page = try await catalog.objects(in: destination, after: last, limit: size)
    last = page.last?.key
    return page.isEmpty ? nil : page
  }
}

extension Duration {
  var seconds: Double { self / .seconds(1) }
}

/// Compares what a store holds against the rows.
struct StoreScan {
  let store: LibraryExamination.Store
  let now: Date
  let grace: Duration
  let readsObjects: Bool
  private(set) var findings: [Finding]
  /// Objects that no row names. Those with names that Reel never gives belong to others, and are ignored.
  private(set) var unknown: [Finding] = []
  private(set) var count = 0
  /// The key of the last row that was compared.
  private(set) var last: ObjectKey?
  private var part = StorePart()

  init(
    store: LibraryExamination.Store, now: Date, grace: Duration, readsObjects: Bool, findings: [Finding]
  ) {
    self.store = store
    self.now = now
    self.grace = grace
    self.readsObjects = readsObjects
    self.findings = findings
  }

  mutating func begin(_ part: StorePart) { self.part = part }

  /// Compares rows with a part, in the order of their names. Returns false if the other rows are beyond the part.
  mutating func compare(_ page: [ExaminedObject]) async -> Bool {
    for object in page {
      if let end = part.end, end.precedes(object.key.rawValue) { return false }
      await compare(object)
      last = object.key
    }
    return last?.rawValue != part.end
  }

  mutating func endPart() {
    unknown += part.objects.keys.filter(ObjectKey.isDrawn).sorted().map {
      Finding.unknown($0, in: store.destination)
    }
    part = StorePart()
  }

  private mutating func compare(_ object: ExaminedObject) async {
    count += 1
    let listed = part.objects.removeValue(forKey: object.key.rawValue)
    let wasListed = listed != nil
    switch object.state {
    case .published: await compareBytes(of: object, listed: listed ?? nil)
    case .abandoned: findings.append(.abandoned(object, age(of: object), isStored: wasListed))
    case .waiting where age(of: object) > grace:
      findings.append(.stale(object, age(of: object), isStored: wasListed))
    case .waiting where wasListed: findings.append(.waiting(object, age(of: object)))
    case .givenUp where wasListed:
      findings.append(
        await isItself(object)
          ? .leftBehind(object, in: store.destination) : .givenUp(object, in: store.destination))
    case .unneeded where wasListed && age(of: object) > grace:
      findings.append(
        await isItself(object) ? .unneeded(object) : .givenUp(object, in: store.destination))
    case .kept where !wasListed: findings.append(.keptMissing(object, in: store.destination))
    case .removed where wasListed:
      findings.append(
        await isItself(object)
          ? .removedLeftBehind(object, in: store.destination) : .givenUp(object, in: store.destination))
    case .waiting, .held, .givenUp, .unneeded, .kept, .changing, .removed: break
    }
  }

  private func age(of object: ExaminedObject) -> Duration {
    .seconds(clamping: max(0, now.timeIntervalSince(object.changedAt)))
  }

  /// Whether what is stored may be this object: it is not proved to be something else.
  private func isItself(_ object: ExaminedObject) async -> Bool {
    do throws(UploadError) {
      guard try await store.find(object.key)?.size == object.size else { return false }
      return try await store.readFound(object.key) == object.digest
    } catch {
      return true
    }
  }

  /// - Parameter listed: the object's bytes, if the list states them.
  private mutating func compareBytes(of object: ExaminedObject, listed: Int64?) async {
    do throws(UploadError) {
      // An object that is not listed may have been stored since, and a list may be out of date.
      let found = listed == object.size ? listed : try await store.find(object.key)?.size
      guard let size = found else {
        findings.append(.missing(object, in: store.destination))
        return
      }
      guard size == object.size else {
        findings.append(.differs(object, "it has \(size) bytes, not \(object.size)"))
        return
      }
      if readsObjects, try await store.readFound(object.key) != object.digest {
        findings.append(.differs(object, "its content is different", remedy: "--fix --read"))
      }
    } catch {
      findings.append(.differs(object, "it can't be read: \(error.text)"))
    }
  }
}
