import ReelCore

/// One moment of a post that is there already: two processes that change it, and one that publishes its video.
///
/// Each step is one effect of `PostChanges`, the catalog or the store; `ChangeDecision` and `ClaimDecision` decide.
struct ChangeState: Hashable {
  /// What a process is asked for.
  enum Ask: Hashable, CaseIterable {
    case remove, removeAndKeep, purge, restore, edit, move
    /// `reel prune`: what the dead have left.
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

  /// What a process has done last.
  enum Step: Hashable {
    case idle
    /// The change is written down.
    case begun
    /// A copy or the video that was put back has its name, and is not proved.
    case stored
    /// The store has what the change makes of its objects.
    case carriedOut
    /// It is true.
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

  /// A row of `change`.
  struct Open: Hashable {
    var kind: ChangeKind
    var isDone = false
    /// Where to, or where from when it is done.
    var other: Store?
    var owner: Int?
  }

  struct Changer: Hashable {
    var owner: Int
    var ask: Ask
    var step = Step.idle
    /// What it carries out: what was asked for, or what another has left.
    var kind: ChangeKind?
    /// Whether it takes copies away again.
    var isUndoing = false
    var hasLease = true
  }

  enum PublishStep: Hashable { case idle, claimed, stored, ended }

  struct Publisher: Hashable {
    var owner: Int
    var step = PublishStep.idle
    let again: Bool
  }

  /// The post that was there, where it is or was last.
  var post = Post(key: 1)
  /// It is in the feed, or it was removed.
  var removal: Removal?
  var open: Open?
  /// What `publisher` made.
  var second: Post?
  /// Who works on the unfinished intent for `second`, or did.
  var intent: Int?
  var objects: Set<Object> = [Object(key: 1, store: .here)]
  /// Objects that have gone, and may be back when the power goes.
  var going: Set<Object> = []
  /// Those whose bytes are others.
  var damaged: Set<Object> = []
  /// What is so by a change.
  var isTrue: Set<ChangeKind> = []
  /// What of it has to be told.
  var owed: Set<ChangeKind> = []
  var toldWhatIsNotSo = false
  /// Whether somebody asked for it to come back since it was removed; nil when it never was.
  var mayReturn: Bool?
  /// It has moved from `here`.
  var hasLeft = false
  /// The video was published anew, and nobody had said so.
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

/// A mistake that could be made in the code; the model has to notice each.
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
