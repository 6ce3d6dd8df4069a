import FoundationEssentials
import ReelCore

/// Holds what a store has against what the rows say.
struct StoreScan {
  let store: LibraryExamination.Store
  let now: Date
  let grace: Duration
  let readsObjects: Bool
  private(set) var findings: [Finding] = []
  private(set) var count = 0
  private var names: Set<String> = []

  init(store: LibraryExamination.Store, now: Date, grace: Duration, readsObjects: Bool) {
    self.store = store
    self.now = now
    self.grace = grace
    self.readsObjects = readsObjects
  }

  /// Lists the store. Before the rows are read: an object that comes later has its row then, too.
  mutating func begin() async throws(UploadError) {
    findings += try await store.leftovers().map(Finding.leftOver)
    names = Set(try await store.names())
  }

  mutating func compare(_ object: ExaminedObject) async {
    count += 1
    let wasListed = names.remove(object.key.rawValue) != nil
    switch object.state {
    case .published: await compareBytes(of: object)
    case .abandoned: findings.append(.abandoned(object, age(of: object), isStored: wasListed))
    case .waiting where age(of: object) > grace:
      findings.append(.stale(object, age(of: object), isStored: wasListed))
    case .waiting where wasListed: findings.append(.waiting(object, age(of: object)))
    case .givenUp where wasListed: findings.append(.givenUp(object, in: store.destination))
    case .waiting, .held, .givenUp: break
    }
  }

  /// What no row named. Names that Reel never gives are somebody else's, and none of our business.
  func unknown() -> [Finding] {
    names.filter(ObjectKey.isDrawn).sorted().map { Finding.unknown($0, in: store.destination) }
  }

  private func age(of object: ExaminedObject) -> Duration {
    .seconds(max(0, now.timeIntervalSince(object.changedAt)))
  }

  private mutating func compareBytes(of object: ExaminedObject) async {
    do throws(UploadError) {
      guard let stored = try await store.find(object.key) else {
        findings.append(.missing(object, in: store.destination))
        return
      }
      guard stored.size == object.size else {
        findings.append(.differs(object, "it has \(stored.size) bytes, not \(object.size)"))
        return
      }
      guard readsObjects, let digest = try await store.readBack(object.key) else { return }
      if digest != object.digest {
        findings.append(.differs(object, "its bytes are others", remedy: "--fix --read"))
      }
    } catch {
      findings.append(.differs(object, "it can't be read: \(error.message)"))
    }
  }
}
