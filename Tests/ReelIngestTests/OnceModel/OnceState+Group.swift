/// The sync of the folder that a batch of copies shares (`ObjectBatch`).
extension OnceState {
  /// Starts or ends a sync. Only one runs at a time, and it covers the copies that were waiting when it began.
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
