import ReelCore

/// One state of a post that exists already, two processes that change it, and one that publishes its video.
///
/// Each step is one effect of `PostChanges`, the catalog or the store. `ChangeDecision` and `ClaimDecision` make the
/// decisions.
struct ChangeState: Hashable {
  /// What a process is asked to do.
  enum Ask: Hashable, CaseIterable {
    case remove, removeAndKeep, purge, restore, edit, move
    /// `reel prune`: complete the changes that dead processes have left.
    case carryOn

    var kind: ChangeKind? {
      switch self {
      case .remove, .removeAndKeep: .removal
      case .purge: .purge
      case .restore: .restoration
      case .edit: .edit
      case .move: .move
      case .carryOn: nil
      }
    }
  }

  /// The last step that a process has taken.
  enum Step: Hashable {
    case idle
    /// The change is in the catalog.
    case begun
    /// A copy, or the video that was put back, has its name but is not verified.
    case stored
    /// The store's objects are as the change requires.
    case carriedOut
    /// The change is in effect.
    case finished
    case told
    case ended
  }

  enum Store: Hashable { case here, there }

  struct Object: Hashable {
    let key: Int
    let store: Store
  }

  struct Post: Hashable {
    let key: Int
    var store = Store.here
    var edited = false
  }

  struct Removal: Hashable {
    var keeps: Bool
    var isStored = true
  }

  /// A row of table `change`.
  struct Open: Hashable {
    var kind: ChangeKind
    var isDone = false
    /// The store it moves to, or once it is done, the store it moved from.
    var other: Store?
    var owner: Int?
  }

  struct Changer: Hashable {
    var owner: Int
    var ask: Ask
    var step = Step.idle
    /// The kind of change it carries out: the one it was asked for, or one that another process has left.
    var kind: ChangeKind?
    /// Whether it is removing the copies of a move that failed.
    var isUndoing = false
    var hasLease = true
  }

  enum PublishStep: Hashable { case idle, claimed, stored, ended }

  struct Publisher: Hashable {
    var owner: Int
    var step = PublishStep.idle
    let again: Bool
  }

  /// The original post, at its current or last place.
  var post = Post(key: 1)
  /// How the post was removed; nil while it is in the feed.
  var removal: Removal?
  var open: Open?
  /// The post that `publisher` made.
  var second: Post?
  /// The owner of the unfinished intent for `second`, if there is one; the owner may be dead.
  var intent: Int?
  var objects: Set<Object> = [Object(key: 1, store: .here)]
  /// Objects that were removed without a sync, and may return after a power loss.
  var going: Set<Object> = []
  /// Objects whose bytes are wrong.
  var damaged: Set<Object> = []
  /// The changes that are in effect.
  var isTrue: Set<ChangeKind> = []
  /// The changes in effect whose event has not been sent yet.
  var owed: Set<ChangeKind> = []
  var toldWhatIsNotSo = false
  /// Whether somebody has asked for the post back since its removal; nil if it was never removed.
  var mayReturn: Bool?
  /// Whether it has moved away from `here`.
  var hasLeft = false
  /// Whether the video was published again although nobody had asked for that.
  var cameBack = false
  var changers: [Changer]
  var publisher: Publisher?
  var faultsLeft: Int

  init(_ asks: [Ask], publishing again: Bool?, faults: Int, removed: Removal? = nil) {
    changers = asks.enumerated().map { Changer(owner: $0, ask: $1) }
    publisher = again.map { Publisher(owner: 9, again: $0) }
    faultsLeft = faults
    if let removed {
      removal = removed
      isTrue = [.removal]
      mayReturn = false
      if !removed.isStored { objects = [] }
    }
  }

  func isAlive(_ owner: Int) -> Bool {
    changers.contains { $0.owner == owner && $0.hasLease && $0.step != .ended }
      || publisher?.owner == owner
  }

  var place: ChangeDecision.Place {
    guard let removal else { return .feed }
    return removal.isStored ? .kept : .gone
  }

  func isHeld(by changer: Changer) -> Bool { open?.owner == changer.owner }
}

/// A mistake that could be made in the code. The model must detect each one.
enum ChangeMistake: CaseIterable, Sendable {
  case objectGoesBeforeThePostLeaves
  case restoredBeforeItIsProved
  case struckOutBeforeTold
  case toldBeforeItIsSo
  case clearedBeforeItHasMoved
  case movedBeforeTheCopyIsProved
  case copiesStayWhenItIsUndone
  case removedIsNotLookedFor
  case movedIsNotLookedFor
  case removalIsNotSynced
  case neverCarriedOn
  case goesOnWithoutALook
  case finishedWithoutAFence
  case purgesWhatIsBack
  case restoredBesideAnother
  case copiedBeforeItIsWrittenDown
}
