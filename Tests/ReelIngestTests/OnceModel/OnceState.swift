/// One state of a library, two workers and a doctor that all deal with the same video.
struct OnceState: Hashable {
  /// The last step that a worker has taken. Named as in `IntakeStep`.
  enum Step: String, Hashable, CaseIterable {
    /// The worker knows what it wants to publish, and asks for the intent.
    case judged
    /// The worker holds the intent: T1 is durable.
    case intended
    /// The bytes are in the store's staging area, without a name, and wait for a group's sync.
    case copied
    /// A group's sync that covered the bytes has ended.
    case synced
    /// The object has its name, but the folder is not synced.
    case named
    case uploaded
    case verified
    /// The post is recorded beside the object, as in a store that keeps posts.
    case recorded
    /// T2 is durable.
    case published
    case told
    /// The worker is done.
    case ended
  }

  /// The values of the `state` column of table `intent`.
  enum IntentState: Hashable { case unfinished, published, givenUp }

  struct Row: Hashable {
    var key: Int
    var state = IntentState.unfinished
    var attempt = 1
    var owner: Int?
  }

  struct Object: Hashable {
    /// The owner that wrote it. A published object keeps its writer.
    var writer: Int
    var isWhole = true
    /// Whether its bytes are durable.
    var isSynced = true
    /// Whether its name is durable.
    var isDurable = false
    /// Whether another program wrote it, under a name that we had drawn.
    var isForeign = false
  }

  struct Worker: Hashable {
    /// The process's owner number. A process started in its place gets another one.
    var owner: Int
    var step = Step.judged
    var key = 0
    var attempt = 0
    var hasLease = true
    /// Whether the bytes of its copy are durable.
    var isSynced = false
    /// Whether it looked for a post and found none; used only by the mistake that makes claiming non-atomic.
    var sawNothing = false
  }

  /// The progress of `reel doctor --fix`.
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
  /// The objects by key.
  var objects: [Int: Object] = [:]
  /// The keys of the posts that are recorded beside the objects.
  var documents: Set<Int> = []
  var posts: [Post] = []
  var outbox: Int?
  var told = 0
  var workers = [Worker(owner: 0), Worker(owner: 1)]
  var doctor = Doctor.idle
  /// The workers whose copies the running sync makes durable: those that were waiting when it began.
  var syncing: [Int] = []
  /// How many faults may still happen. Each kind may happen at most twice.
  var faultsLeft: Int
  var faults: [Fault: Int] = [:]

  init(faults: Int) {
    faultsLeft = faults
  }

  func mayHappen(_ fault: Fault) -> Bool { faultsLeft > 0 && faults[fault, default: 0] < 2 }

  /// Returns this state with `fault` counted.
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

  /// A key that no row, worker or object uses.
  var freshKey: Int { (rows.map(\.key) + workers.map(\.key) + Array(objects.keys)).max().map { $0 + 1 } ?? 1 }
}

/// A mistake that could be made in the code. The model must detect each one.
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
