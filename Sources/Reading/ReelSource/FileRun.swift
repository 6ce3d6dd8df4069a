import ReelCore

/// Work on the files of a walk: several at once, told of one by one, in their order.
///
/// It ends when there are no more, when who is told has had enough, with the first error, or with its task.
package struct FileRun: Sendable {
  private let walk: SourceWalk
  private let queue: BlockingQueue
  private let ahead: Int

  /// - Parameters:
  ///   - width: files worked on at once, at least 1.
  ///   - ahead: files that may be begun and not told of yet: they wait behind one that takes long.
  package init(inputs: [SourceInput], options: WalkOptions, width: Int, ahead: Int = 256) {
    walk = SourceWalk(inputs: inputs, options: options)
    queue = BlockingQueue(label: "reel.files", width: width)
    self.ahead = ahead
  }

  /// - Parameters:
  ///   - work: may block; throws what no other file would fare better with. Its flag is set when no result is wanted.
  ///   - tell: called where the caller is; false ends the run.
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

  /// The same where telling may block, too.
  package func runBlocking<Output: Sendable, Failure: Error>(
    _ work: @escaping @Sendable (WalkedFile, CancellationFlag) throws(Failure) -> Output,
    _ tell: @escaping @Sendable (Output) throws(Failure) -> Bool
  ) async throws(Failure) {
    try await walk.cancellation.whileRunning { () async throws(Failure) in
      try await queue.tryMapInOrder(WalkedFiles(walk), ahead: ahead, work, blocking: tell)
    }
  }
}
