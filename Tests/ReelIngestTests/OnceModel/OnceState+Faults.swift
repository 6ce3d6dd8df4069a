/// The faults, and the doctor that cleans up after them.
extension OnceState {
  func faultsHappening() -> [OnceState] {
    workers.indices.flatMap { [crashing($0), losingLease($0), renewing($0)].compactMap { $0 } }
      + [losingPower(), crashingDoctor()].compactMap { $0 } + corrupting() + strangers()
  }

  /// A crash (`kill -9`). Another process takes this one's place.
  private func crashing(_ index: Int) -> OnceState? {
    guard mayHappen(.crash), workers[index].step != .ended else { return nil }
    var next = suffering(.crash)
    next.workers[index] = Worker(owner: workers[index].owner + 2)
    next.syncing.removeAll { $0 == index }
    return next
  }

  /// A power loss: everything that was not synced is lost, and every process ends.
  private func losingPower() -> OnceState? {
    guard mayHappen(.powerLoss) else { return nil }
    var next = suffering(.powerLoss)
    next.objects = objects.filter { $0.value.isDurable }
    for (key, object) in next.objects where !object.isSynced { next.objects[key]?.isWhole = false }
    next.syncing = []
    next.workers = workers.map { Worker(owner: $0.owner + 2) }
    next.doctor = .idle
    return next
  }

  /// A pause longer than the process's lease. It resumes later at the same step.
  private func losingLease(_ index: Int) -> OnceState? {
    guard mayHappen(.expiry), workers[index].hasLease, workers[index].step != .ended else { return nil }
    var next = suffering(.expiry)
    next.workers[index].hasLease = false
    return next
  }

  private func renewing(_ index: Int) -> OnceState? {
    guard !workers[index].hasLease else { return nil }
    var next = self
    next.workers[index].hasLease = true
    return next
  }

  /// The store corrupts an object before anybody has verified it.
  private func corrupting() -> [OnceState] {
    guard mayHappen(.corruption) else { return [] }
    return objects.keys.sorted().compactMap { key in
      let isProven = workers.contains { $0.key == key && [.verified, .recorded].contains($0.step) }
      if isProven || posts.contains(where: { $0.key == key }) { return nil }
      var next = suffering(.corruption)
      next.objects[key]?.isWhole = false
      return next
    }
  }

  /// Another program puts an object under a name that was drawn, before we do.
  private func strangers() -> [OnceState] {
    guard mayHappen(.stranger) else { return [] }
    return rows.filter { $0.state == .unfinished && objects[$0.key] == nil }.map { row in
      var next = suffering(.stranger)
      next.objects[row.key] = Object(writer: -1, isDurable: true, isForeign: true)
      return next
    }
  }

  // MARK: The doctor

  func doctorSteps(_ mistake: Mistake?) -> [OnceState] {
    var next = self
    switch doctor {
    case .idle:
      // Time is not modeled: the grace period may end at any moment.
      return rows.indices.compactMap { beginningMending($0, mistake) }
    case .givenUp(let key):
      if mistake == .removedBeforeWithdrawn { next.objects[key] = nil } else { next.documents.remove(key) }
      next.doctor = .withdrawn(key: key)
    case .withdrawn(let key):
      if mistake == .removedBeforeWithdrawn { next.documents.remove(key) } else { next.objects[key] = nil }
      if mistake == .removedBeforeGivenUp, let row = row(key) { next.giveUp(row) }
      next.doctor = .idle
    }
    return [next]
  }

  private func beginningMending(_ row: Int, _ mistake: Mistake?) -> OnceState? {
    guard rows[row].state == .unfinished, mayHappen(.cleaning) else { return nil }
    var next = suffering(.cleaning)
    if mistake == .cleaningUpByAge {
      guard objects[rows[row].key] != nil else { return nil }
      next.objects[rows[row].key] = nil
      return next
    }
    if let owner = rows[row].owner, isAlive(owner) { return nil }
    // From here on nobody can complete the intent, however long the doctor is stopped.
    if mistake != .removedBeforeGivenUp { next.giveUp(row) }
    next.doctor = .givenUp(key: rows[row].key)
    return next
  }

  private mutating func giveUp(_ row: Int) {
    guard rows[row].state == .unfinished else { return }
    rows[row].state = .givenUp
    rows[row].owner = nil
  }

  private func crashingDoctor() -> OnceState? {
    guard doctor != .idle, mayHappen(.crash) else { return nil }
    var next = suffering(.crash)
    next.doctor = .idle
    return next
  }
}
