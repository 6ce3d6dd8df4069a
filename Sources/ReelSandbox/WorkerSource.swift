import ReelModel

/// Where a seat of the pool gets the worker for its next file from. Used by one thread at a time.
protocol WorkerSource: AnyObject {
  /// A worker that is ready. Blocks while one starts.
  /// - Parameter alone: whether it must have read no other file.
  /// - Throws: as ``WorkerStarter/start(_:_:)``.
  func worker(alone: Bool, _ interruption: CancellationFlag) throws(ProbeError) -> GreetedWorker

  /// Starts what can be started before there is a file. Gives the first word of it.
  func prepare(_ interruption: CancellationFlag) throws(ProbeError) -> ReaderVersion

  /// Takes back a worker that has read a file: one that is `sound` may read another.
  func takeBack(_ worker: GreetedWorker, sound: Bool)
}
