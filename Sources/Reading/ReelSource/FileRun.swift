import ReelCore

/// Work on the files of a walk: several at once, with results delivered one by one in the order of the files.
///
/// It ends when there are no more files, when the receiver wants no more, at the first error, or when its task is
/// cancelled.
package struct FileRun: Sendable {
  private let walk: SourceWalk
  private let queue: BlockingQueue
  private let ahead: Int

  /// - Parameters:
  ///   - width: how many files are worked on at once, at least 1.
  ///   - ahead: how many files may be begun before their results are delivered: they wait behind one that takes long.
  package init(inputs: [SourceInput], options: WalkOptions, width: Int, ahead: Int = 256) {
    walk = SourceWalk(inputs: inputs, options: options)
    queue = BlockingQueue(label: "reel.files", width: width)
    self.ahead = ahead
  }

  /// Works on all files.
  /// - Parameters:
  ///   - work: may block. It throws only what would happen to every other file, too. Its flag is set when no result is
  ///     wanted.
  ///   - tell: called with each result on the caller's actor; false ends the run.
  package func run<Output: Sendable, Failure: Error>(
    isolation: isolated (any Actor)? = #isolation,
    _ work: @escaping @Sendable (WalkedFile, CancellationFlag) throws(Failure) -> Output,
    _ tell: (Output) async throws(Failure) -> Bool
  ) async throws(Failure) {
    let result: Result<Void, Failure> = await withTaskCancellationHandler {
      do throws(Failure) {
        return .success(try await queue.tryMapInOrder(WalkedFiles(walk), ahead: ahead, work, tell))
      } catch {
        return .failure(error)
      }
    } onCancel: {
      walk.cancellation.set()
    }
    try result.get()
  }

  /// As ``run(isolation:_:_:)``, but `tell` may block as well.
  package func runBlocking<Output: Sendable, Failure: Error>(
    _ work: @escaping @Sendable (WalkedFile, CancellationFlag) throws(Failure) -> Output,
    _ tell: @escaping @Sendable (Output) throws(Failure) -> Bool
  ) async throws(Failure) {
    try await walk.cancellation.whileRunning { () async throws(Failure) in
      try await queue.tryMapInOrder(WalkedFiles(walk), ahead: ahead, work, blocking: tell)
    }
  }
}
