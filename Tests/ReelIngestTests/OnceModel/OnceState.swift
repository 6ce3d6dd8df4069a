/// One moment of a library, two workers and a doctor, all at one video.
struct OnceState: Hashable {
  /// How far a worker has come: what it has done last. Named as `IntakeStep`.
  enum Step: String, Hashable, CaseIterable {
    /// Knows what it wants to publish, and asks for the intent.
    case judged
    /// Holds the intent: T1 is durable.
    case intended
    /// The bytes lie beside the store, without a name; they wait for a group to be synced.
    case copied
    /// A group's sync has ended that they were in.
    case synced
    /// The object has its name; the folder is not synced.
    case named
    case uploaded
    case verified
    /// The post is written down beside the object, as in a store that keeps posts.
    case recorded
    /// T2 is durable.
    case published
    case told
    /// Came to its end.
    case ended
  }

  /// A row of `intent`, by its `state` column.
  enum IntentState: Hashable { case unfinished, published, givenUp }

  struct Row: Hashable {
    var key: Int
    var state = IntentState.unfinished
    var attempt = 1
    var owner: Int?
  }

  struct Object: Hashable {
    /// Who wrote it; a published one keeps its.
    var writer: Int
    var isWhole = true
    /// Its bytes are on the disk.
    var isSynced = true
    /// Its name is on the disk.
    var isDurable = false
    /// Somebody else's, under a name that we drew, too.
    var isForeign = false
  }

  struct Worker: Hashable {
    /// Another process in the same place is another owner.
    var owner: Int
    var step = Step.judged
    var key = 0
    var attempt = 0
    var hasLease = true
    /// Its copy is on the disk.
    var isSynced = false
    /// Looked for the post and found none: only where claiming is not atomic.
    var sawNothing = false
  }

  /// `reel doctor --fix`
  enum Doctor: Hashable {
    case idle
    case givenUp(key: Int)
    case withdrawn(key: Int)
  }

  struct Post: Hashable {
    var key: Int
    var writer: Int
  }

  /// Something that goes wrong.
  enum Fault: Hashable, CaseIterable {
    case crash, powerLoss, lostReply, expiry, corruption, stranger, cleaning
  }

  var rows: [Row] = []
  /// By key.
  var objects: [Int: Object] = [:]
  /// What is written down beside the objects, by their keys.
  var documents: Set<Int> = []
  var posts: [Post] = []
  var outbox: Int?
  var told = 0
  var workers = [Worker(owner: 0), Worker(owner: 1)]
  var doctor = Doctor.idle
  /// Whose copies the sync that is running makes durable: those that were there when it began.
  var syncing: [Int] = []
  /// How many faults may still happen, each at most twice.
  var faultsLeft: Int
  var faults: [Fault: Int] = [:]

  init(faults: Int) {
    faultsLeft = faults
  }

  func mayHappen(_ fault: Fault) -> Bool { faultsLeft > 0 && faults[fault, default: 0] < 2 }

  /// This state, with `fault` on the account.
  func suffering(_ fault: Fault) -> OnceState {
    var next = self
    next.faultsLeft -= 1
    next.faults[fault, default: 0] += 1
    return next
  }

  func isAlive(_ owner: Int) -> Bool {
    workers.contains { $0.owner == owner && $0.hasLease }
  }

  func row(_ key: Int) -> Int? { rows.firstIndex { $0.key == key } }

  /// A key that no row names.
  var freshKey: Int { (rows.map(\.key) + workers.map(\.key) + Array(objects.keys)).max().map { $0 + 1 } ?? 1 }
}

/// A mistake that could be made in the code; the model has to notice each.
enum Mistake: String, CaseIterable, Sendable {
  case keyNotRecordedFirst
  case noVerification
  case cleaningUpByAge
  case claimNotAtomic
  case completionWithoutFence
  case folderNotSynced
  case objectsOverwritten
  case toldBeforeCommit
  case foundObjectIsTrusted
  case foundObjectIsNotSynced
  case removedBeforeGivenUp
  case neverTakenOver
  case eventForgotten
  case neverRecorded
  case removedBeforeWithdrawn
  case toldBeforeTheGroupIsSynced
  case joinsASyncThatIsRunning
}
