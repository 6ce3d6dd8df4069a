import ReelCore

/// The steps that can follow: those of docs/publish.md, with one effect each.
extension OnceState {
  func successors(with mistake: Mistake?) -> [OnceState] {
    workers.indices.flatMap { step($0, mistake) } + groupSteps(mistake) + doctorSteps(mistake)
      + faultsHappening()
  }

  /// Returns the states that follow from the next step of worker `index`.
  func step(_ index: Int, _ mistake: Mistake?) -> [OnceState] {
    switch workers[index].step {
    case .judged: claim(index, mistake)
    case .intended: place(index, mistake)
    case .copied: []
    case .synced: name(index, mistake)
    case .named: [syncingFolder(index)]
    case .uploaded: verify(index, mistake)
    case .verified: [recording(index, mistake)]
    case .recorded: [completing(index, mistake)]
    case .published: [telling(index)]
    case .told: [striking(index)]
    case .ended: []
    }
  }

  // MARK: T1

  private func claim(_ index: Int, _ mistake: Mistake?) -> [OnceState] {
    var next = self
    if mistake == .claimNotAtomic, workers[index].sawNothing {
      next.begin(index, mistake)
      return [next]
    }
    let claimant = workers[index].owner
    // The decision function that the catalogs call.
    let decision = ClaimDecision<Post, Never, Int>.decide(
      .skip, again: true, published: posts.first, removed: nil,
      own: rows.indices.filter { rows[$0].state == .unfinished }, related: [],
      holding: { row in
        IntentHolding(owner: rows[row].owner, claimant: claimant) {
          mistake == .neverTakenOver || isAlive($0)
        }
      },
      posterNameIsTaken: false, nameIsTaken: false)
    switch decision {
    case .published: return [meetingPost(index, mistake)]
    case .removed: return []
    case .held, .nameTaken: return []
    case .takeOver(let row):
      next.rows[row].attempt += 1
      next.rows[row].owner = claimant
      next.hold(row, index)
    case .begin where mistake == .claimNotAtomic: next.workers[index].sawNothing = true
    case .begin: next.begin(index, mistake)
    }
    return [next]
  }

  private mutating func begin(_ index: Int, _ mistake: Mistake?) {
    let key = freshKey
    workers[index].sawNothing = false
    guard mistake != .keyNotRecordedFirst else {
      workers[index].key = key
      workers[index].attempt = 1
      workers[index].step = .intended
      return
    }
    rows.append(Row(key: key, owner: workers[index].owner))
    hold(rows.count - 1, index)
  }

  private mutating func hold(_ row: Int, _ index: Int) {
    workers[index].key = rows[row].key
    workers[index].attempt = rows[row].attempt
    workers[index].step = .intended
  }

  /// The video has a post already. Its event is sent by the owner of the outbox entry, or by us if that owner is dead.
  private func meetingPost(_ index: Int, _ mistake: Mistake?) -> OnceState {
    var next = self
    let teller = outbox
    if let teller, teller == workers[index].owner || !isAlive(teller), mistake != .eventForgotten {
      next.outbox = workers[index].owner
      next.workers[index].step = .published
    } else {
      next.workers[index].step = .ended
    }
    return next
  }

  // MARK: The upload

  private func place(_ index: Int, _ mistake: Mistake?) -> [OnceState] {
    let worker = workers[index]
    var next = self
    if objects[worker.key] != nil, mistake != .objectsOverwritten {
      // A process that has died since may have named it without syncing the name.
      next.workers[index].step = mistake == .foundObjectIsNotSynced ? .uploaded : .named
      if mistake == .foundObjectIsTrusted {
        next.objects[worker.key]?.isDurable = true
        next.workers[index].step = .verified
      }
      return [next]
    }
    next.workers[index].isSynced = false
    next.workers[index].step = mistake == .toldBeforeTheGroupIsSynced ? .synced : .copied
    return [next]
  }

  private func name(_ index: Int, _ mistake: Mistake?) -> [OnceState] {
    let worker = workers[index]
    var next = self
    next.workers[index].isSynced = false
    if objects[worker.key] != nil, mistake != .objectsOverwritten {
      // Another process was faster. Its object is treated like any object that was found.
      next.workers[index].step = .named
      return [next]
    }
    next.objects[worker.key] = Object(writer: worker.owner, isSynced: worker.isSynced)
    next.workers[index].step = mistake == .folderNotSynced ? .uploaded : .named
    var states = [next]
    if mayHappen(.lostReply) {
      // The upload succeeded, but the reply was lost.
      next = next.suffering(.lostReply)
      next.release(index, keyUnusable: false)
      states.append(next)
    }
    return states
  }

  private func syncingFolder(_ index: Int) -> OnceState {
    var next = self
    next.objects[workers[index].key]?.isDurable = true
    next.workers[index].step = .uploaded
    return next
  }

  private func verify(_ index: Int, _ mistake: Mistake?) -> [OnceState] {
    var next = self
    let object = objects[workers[index].key]
    if mistake == .noVerification || object.map({ $0.isWhole && !$0.isForeign }) == true {
      next.workers[index].step = .verified
      if mistake == .toldBeforeCommit { next.told += 1 }
    } else {
      // If an earlier attempt recorded another object, that record is withdrawn before the name is given up.
      if object != nil { next.documents.remove(workers[index].key) }
      next.release(index, keyUnusable: object != nil)
    }
    return [next]
  }

  private mutating func release(_ index: Int, keyUnusable: Bool) {
    let worker = workers[index]
    workers[index].step = .judged
    guard let row = row(worker.key), isHeld(row, by: worker.owner, worker.attempt) else { return }
    rows[row].owner = nil
    if keyUnusable { rows[row].state = .givenUp }
  }

  // MARK: The record, T2 and the event

  /// Recording is idempotent: the record's id is the intent's. To the next worker, a lost reply is the same as a crash
  /// right after recording.
  private func recording(_ index: Int, _ mistake: Mistake?) -> OnceState {
    var next = self
    if mistake != .neverRecorded { next.documents.insert(workers[index].key) }
    next.workers[index].step = .recorded
    return next
  }

  private func completing(_ index: Int, _ mistake: Mistake?) -> OnceState {
    let worker = workers[index]
    var next = self
    if mistake == .keyNotRecordedFirst, row(worker.key) == nil {
      next.rows.append(Row(key: worker.key, owner: worker.owner))
    }
    guard let row = next.row(worker.key),
      mistake == .completionWithoutFence || next.isHeld(row, by: worker.owner, worker.attempt)
    else {
      next.workers[index].step = .judged
      return next
    }
    next.rows[row].state = .published
    next.rows[row].owner = nil
    next.posts.append(Post(key: worker.key, writer: objects[worker.key]?.writer ?? -1))
    next.outbox = worker.owner
    next.workers[index].step = .published
    return next
  }

  private func telling(_ index: Int) -> OnceState {
    var next = self
    next.told += 1
    next.workers[index].step = .told
    return next
  }

  private func striking(_ index: Int) -> OnceState {
    var next = self
    next.outbox = nil
    next.workers[index].step = .ended
    return next
  }

  /// The fence: whether `owner` still holds the row's intent in this attempt.
  func isHeld(_ row: Int, by owner: Int, _ attempt: Int) -> Bool {
    rows[row].state == .unfinished && rows[row].owner == owner && rows[row].attempt == attempt
  }
}
