/// The sync of the folder that a batch of copies shares (`ObjectBatch`).
extension OnceState {
  /// One sync at a time; it serves the copies that were there when it began.
  func groupSteps(_ mistake: Mistake?) -> [OnceState] {
    let waiting = workers.indices.filter { workers[$0].step == .copied }
    var next = self
    if syncing.isEmpty {
      next.syncing = waiting
      return waiting.isEmpty ? [] : [next]
    }
    for index in mistake == .joinsASyncThatIsRunning ? waiting : syncing {
      next.workers[index].step = .synced
      next.workers[index].isSynced = syncing.contains(index)
    }
    next.syncing = []
    return [next]
  }
}
