import ReelCore

/// The steps that can follow.
extension ChangeState {
  func successors(with mistake: ChangeMistake?) -> [ChangeState] {
    changers.indices.flatMap { step($0, mistake) } + publishing(mistake) + faultsHappening()
  }

  func step(_ index: Int, _ mistake: ChangeMistake?) -> [ChangeState] {
    let changer = changers[index]
    switch changer.step {
    case .ended: return []
    case .idle:
      return changer.ask == .carryOn ? carryingOn(index, mistake) : beginning(index, mistake)
    case .begun: return carryingOut(index, mistake)
    case .stored: return [proving(index, mistake)]
    case .carriedOut:
      if mistake == .toldBeforeItIsSo, let kind = changer.kind {
        var next = self
        next.tell(kind)
        return [next.finishing(index, mistake)]
      }
      return [finishing(index, mistake)]
    case .finished: return [clearingOrTelling(index, mistake)]
    case .told: return [striking(index, mistake)]
    }
  }

  // MARK: Step 1: begin

  private func beginning(_ index: Int, _ mistake: ChangeMistake?) -> [ChangeState] {
    let changer = changers[index]
    guard let kind = changer.ask.kind else { return [] }
    let target: Store? = kind == .move ? .there : nil
    // The decision function that the catalogs call.
    let decision = ChangeDecision.decide(
      kind, of: place, open: open?.kind,
      isHeld: open?.owner.map { mistake == .neverCarriedOn || isAlive($0) || $0 == changer.owner }
        ?? false,
      isSame: kind != .edit && open?.isDone == false && open?.other == target,
      isInPlace: post.store == target)
    var next = self
    switch decision {
    case .busy: return []
    case .nothing where mistake == .purgesWhatIsBack && kind == .purge:
      next.begin(index, kind, target, mistake)
    case .removed where changer.ask == .remove && removal?.isStored == true:
      // `reel remove` of a post whose objects are kept.
      next.changers[index].ask = .purge
    case .nothing, .removed, .unknown: next.changers[index].step = .ended
    case .resume, .finishOther: next.adopt(index, isSame: decision == .resume)
    case .begin:
      if kind == .restoration || kind == .move, mistake != .restoredBesideAnother {
        let store = target ?? post.store
        if second?.store == store {
          next.changers[index].step = .ended
          return [next]
        }
        if store == .here, isBeingPublished { return [] }
      }
      let copy = Object(key: post.key, store: .there)
      if mistake == .copiedBeforeItIsWrittenDown, kind == .move, next.objects.insert(copy).inserted {
        return [next]
      }
      next.begin(index, kind, target, mistake)
    }
    return [next]
  }

  private var isBeingPublished: Bool { intent.map(isAlive) ?? false }

  private mutating func begin(
    _ index: Int, _ kind: ChangeKind, _ target: Store?, _ mistake: ChangeMistake?
  ) {
    open = Open(kind: kind, other: target, owner: changers[index].owner)
    take(index, kind)
    switch kind {
    case .removal:
      if mistake != .objectGoesBeforeThePostLeaves { leave(changers[index].ask) }
    case .restoration:
      removal?.isStored = true
      mayReturn = true
    case .edit:
      post.edited = true
      becomeSo(.edit)
    case .purge, .move: break
    }
  }

  private mutating func leave(_ ask: Ask) {
    removal = Removal(keeps: ask == .removeAndKeep)
    becomeSo(.removal)
    isTrue.remove(.restoration)
    mayReturn = false
  }

  private mutating func becomeSo(_ kind: ChangeKind) {
    isTrue.insert(kind)
    owed.insert(kind)
  }

  private mutating func take(_ index: Int, _ kind: ChangeKind) {
    changers[index].kind = kind
    changers[index].isUndoing = false
    changers[index].step = .begun
  }

  private mutating func adopt(_ index: Int, isSame: Bool) {
    guard let found = open else { return }
    open?.owner = changers[index].owner
    take(index, found.kind)
    changers[index].isUndoing = found.kind == .move && !found.isDone && !isSame
  }

  private func carryingOn(_ index: Int, _ mistake: ChangeMistake?) -> [ChangeState] {
    var next = self
    guard let open, mistake != .neverCarriedOn else {
      next.changers[index].step = .ended
      return [next]
    }
    if let owner = open.owner, owner == changers[index].owner || isAlive(owner) { return [] }
    next.adopt(index, isSame: false)
    return [next]
  }

  // MARK: The store

  private func carryingOut(_ index: Int, _ mistake: ChangeMistake?) -> [ChangeState] {
    let changer = changers[index]
    let video = Object(key: post.key, store: post.store)
    let copy = Object(key: post.key, store: .there)
    guard goesOn(changer, mistake) else { return [lost(index)] }
    var next = self
    switch changer.kind {
    case nil: return []
    case .removal, .purge:
      if mistake == .objectGoesBeforeThePostLeaves, changer.kind == .removal,
        objects.contains(video)
      {
        next.unlink(video, mistake)
        return [next]
      }
      if changer.kind == .purge || removal?.keeps == false {
        next.unlink(video, mistake)
      }
      if mistake == .objectGoesBeforeThePostLeaves, removal == nil, changer.kind == .removal {
        next.leave(changer.ask)
      }
      next.changers[index].step = .carriedOut
    case .edit: next.changers[index].step = .carriedOut
    case .restoration:
      if open?.isDone == true {
        next.changers[index].step = .carriedOut
      } else if objects.contains(video) {
        next.changers[index].step = .stored
      } else if changer.ask == .restore {
        next.objects.insert(video)
        next.damaged.remove(video)
        next.changers[index].step = .stored
      } else {
        // No process has its bytes: the post stays removed.
        next.giveUp(index)
      }
    case .move where changer.isUndoing:
      if mistake != .copiesStayWhenItIsUndone { next.unlink(copy, mistake) }
      next.giveUp(index)
    case .move where open?.isDone == true: next.changers[index].step = .carriedOut
    case .move:
      next.objects.insert(copy)
      if mistake == .clearedBeforeItHasMoved { next.unlink(video, mistake) }
      next.changers[index].step = .stored
    }
    return [next]
  }

  /// Whether `changer` continues. After a pause longer than its lease, a process checks that it still holds the change
  /// before it touches a store or sends the event.
  private func goesOn(_ changer: Changer, _ mistake: ChangeMistake?) -> Bool {
    mistake == .goesOnWithoutALook || isHeld(by: changer)
  }

  private mutating func unlink(_ object: Object, _ mistake: ChangeMistake?) {
    guard objects.remove(object) != nil else { return }
    damaged.remove(object)
    if mistake == .removalIsNotSynced { going.insert(object) }
  }

  private func proving(_ index: Int, _ mistake: ChangeMistake?) -> ChangeState {
    let changer = changers[index]
    let object = Object(key: post.key, store: changer.kind == .move ? .there : post.store)
    var next = self
    let isBelieved =
      mistake == (changer.kind == .move ? .movedBeforeTheCopyIsProved : .restoredBeforeItIsProved)
    if objects.contains(object), isBelieved || !damaged.contains(object) {
      next.changers[index].step = .carriedOut
      return next
    }
    if changer.kind == .move {
      next.changers[index].isUndoing = true
      next.changers[index].step = .begun
    } else {
      next.giveUp(index)
    }
    return next
  }

  /// Deletes the change from the catalog without having put it into effect.
  private mutating func giveUp(_ index: Int) {
    if isHeld(by: changers[index]) { open = nil }
    changers[index].step = changers[index].ask.kind == changers[index].kind ? .ended : .idle
  }

  private func lost(_ index: Int) -> ChangeState {
    var next = self
    next.changers[index].step = .ended
    return next
  }

  // MARK: Step 2: finish

  private func finishing(_ index: Int, _ mistake: ChangeMistake?) -> ChangeState {
    let changer = changers[index]
    var next = self
    guard let open, let kind = changer.kind,
      isHeld(by: changer) || mistake == .finishedWithoutAFence && open.kind == kind
    else { return lost(index) }
    if !open.isDone {
      switch kind {
      case .removal: if removal?.keeps == false { next.removal?.isStored = false }
      case .purge: next.removal?.isStored = false
      case .restoration:
        if mistake != .restoredBesideAnother, second?.store == post.store || isBeingPublished {
          next.giveUp(index)
          return next
        }
        next.removal = nil
        next.becomeSo(.restoration)
        next.isTrue.remove(.removal)
      case .edit: break
      case .move:
        if second?.store == .there {
          next.changers[index].isUndoing = true
          next.changers[index].step = .begun
          return next
        }
        next.post.store = .there
        next.hasLeft = true
        next.open?.other = post.store
        next.becomeSo(.move)
      }
      next.open?.isDone = true
    }
    next.changers[index].step = .finished
    return next
  }

  private func clearingOrTelling(_ index: Int, _ mistake: ChangeMistake?) -> ChangeState {
    let changer = changers[index]
    guard goesOn(changer, mistake) else { return lost(index) }
    var next = self
    if changer.kind == .move, let old = open?.other, old != post.store {
      let left = Object(key: post.key, store: old)
      if objects.contains(left) {
        next.unlink(left, mistake)
        return next
      }
    }
    if mistake != .struckOutBeforeTold, let kind = changer.kind { next.tell(kind) }
    next.changers[index].step = .told
    return next
  }

  private mutating func tell(_ kind: ChangeKind) {
    if kind == .purge { return }
    if !isTrue.contains(kind) { toldWhatIsNotSo = true }
    owed.remove(kind)
  }

  // MARK: Step 3: delete

  private func striking(_ index: Int, _ mistake: ChangeMistake?) -> ChangeState {
    var next = self
    let changer = changers[index]
    if isHeld(by: changer) { next.open = nil }
    let isAsked = changer.ask.kind == changer.kind
    if mistake == .struckOutBeforeTold, next.open == nil, open != nil {
      // Its event is sent one step later.
      return next
    }
    if mistake == .struckOutBeforeTold, let kind = changer.kind { next.tell(kind) }
    next.changers[index].step = isAsked ? .ended : .idle
    return next
  }

  // MARK: Publishing

  private func publishing(_ mistake: ChangeMistake?) -> [ChangeState] {
    guard let publisher else { return [] }
    var next = self
    switch publisher.step {
    case .ended: return []
    case .idle:
      let isRemoved = removal != nil && second == nil && mistake != .removedIsNotLookedFor
      let isThere =
        post.store == .here || hasLeft && !publisher.again && mistake != .movedIsNotLookedFor
      // The decision function that the catalogs call.
      let decision = ClaimDecision<Post, Removal, Int>.decide(
        .skip, again: publisher.again, published: second ?? (removal == nil && isThere ? post : nil),
        removed: isRemoved ? removal : nil, own: intent.map { [$0] } ?? [], related: [],
        holding: { owner in IntentHolding(owner: owner, claimant: publisher.owner, isAlive: isAlive)
        },
        posterNameIsTaken: false, nameIsTaken: false)
      switch decision {
      case .published, .removed, .nameTaken: next.publisher?.step = .ended
      case .held: return []
      case .takeOver, .begin:
        next.cameBack = (removal != nil || hasLeft) && !publisher.again
        next.intent = publisher.owner
        next.publisher?.step = .claimed
      }
    case .claimed:
      next.objects.insert(Object(key: 2, store: .here))
      next.publisher?.step = .stored
    case .stored:
      next.second = Post(key: 2)
      next.intent = nil
      next.publisher?.step = .ended
    }
    return [next]
  }
}

// The faults.
extension ChangeState {
  fileprivate func faultsHappening() -> [ChangeState] {
    let renewed = changers.indices.filter { !changers[$0].hasLease }.map { index in
      var next = self
      next.changers[index].hasLease = true
      return next
    }
    guard faultsLeft > 0 else { return renewed }
    var suffering = self
    suffering.faultsLeft -= 1
    return renewed + changers.indices.flatMap { suffering.crashing($0) + suffering.losingLease($0) }
      + suffering.publisherCrashing() + suffering.losingPower() + suffering.corrupting()
  }

  /// A crash (`kill -9`). Then the same change is requested again, or the next process carries on what is left.
  private func crashing(_ index: Int) -> [ChangeState] {
    guard changers[index].step != .ended, changers[index].step != .idle else { return [] }
    return Set([changers[index].ask, .carryOn]).map { ask in
      var next = self
      next.changers[index] = Changer(owner: changers[index].owner + 2, ask: ask)
      return next
    }
  }

  private func publisherCrashing() -> [ChangeState] {
    guard let publisher, publisher.step == .claimed || publisher.step == .stored else { return [] }
    var next = self
    next.publisher = Publisher(owner: publisher.owner + 1, again: publisher.again)
    return [next]
  }

  /// A pause longer than the process's lease. It resumes later at the same step.
  private func losingLease(_ index: Int) -> [ChangeState] {
    guard changers[index].hasLease, changers[index].step != .ended, changers[index].step != .idle
    else {
      return []
    }
    var next = self
    next.changers[index].hasLease = false
    return [next]
  }

  private func losingPower() -> [ChangeState] {
    var next = self
    next.objects.formUnion(going)
    next.going = []
    next.changers = changers.map { changer in
      changer.step == .ended ? changer : Changer(owner: changer.owner + 2, ask: changer.ask)
    }
    if let publisher, publisher.step != .ended {
      next.publisher = Publisher(owner: publisher.owner + 1, again: publisher.again)
    }
    return [next]
  }

  /// The store corrupts an object that nobody has verified yet.
  private func corrupting() -> [ChangeState] {
    if changers.contains(where: { $0.step == .carriedOut }) { return [] }
    return changers.filter { $0.step == .stored }.compactMap { changer in
      let store = changer.kind == .move ? .there : post.store
      if removal == nil, store == post.store { return nil }
      var next = self
      next.damaged.insert(Object(key: post.key, store: store))
      return next
    }
  }
}
