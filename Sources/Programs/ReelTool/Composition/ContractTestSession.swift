import Glibc
import ReelCore
import ReelStorage
import ReelStorageTesting
import ReelTerminal

/// Runs the promises of an uploader against a destination.
struct ContractTestSession: Sendable {
  let settings: Settings
  let destination: String
  let promises: [UploaderContractTest]
  let largeSize: Int
  let deadline: Duration
  let answer: AnswerOptions

  /// Checks each promise and tells how it stands, one after the other.
  /// - Throws: ``CommandFailure`` when the destination can't be made ready.
  func run() async throws -> ReelExit {
    let path = try? AppContext.libraryPath(settings)
    let stores = Destinations(settings: settings, library: path, checkpoints: MemoryCheckpoints())
    let uploader = try await stores.open(destination).uploader
    try await uploader.prepare()
    let folder = try ProcessEnvironment.current().text("TMPDIR") ?? "/tmp"
    guard access(folder, W_OK | X_OK) == 0 else {
      throw CommandFailure(
        .couldNotRun,
        "no file can be made in \(folder), which is for the files of the checks (\(SystemError.last("access").reason)): "
          + "name another folder with TMPDIR")
    }
    let kinds = [
      Kind(name: "from memory", sources: .bytes),
      Kind(
        name: "from a file",
        sources: .files(folder: folder)),
    ]
    // Nobody has to listen.
    try? OutputStream.standardError.write(
      ContractTestView.beginning(
        promises.count, of: UploaderContractTest.all.count, destination: uploader.destination.name,
        removes: uploader.traits.removes, largeSize: largeSize, .standardError()))
    let interruption = Interruption()
    let checking = Task { await check(kinds, stores) }
    let (entries, wasInterrupted) = await interruption.cancelling(checking)
    let proof = wasInterrupted ? nil : try? await (uploader as? any ProofTelling)?.proof()
    let view = ContractTestView(
      entries, destination: uploader.destination.name, left: promises.count - entries.count, proof: proof)
    let exit: ReelExit =
      wasInterrupted
      ? .interrupted
      : entries.contains { $0.problem != nil } || entries.count < promises.count ? .someFailed : .done
    try answer.tell(view.answer) { view.summary($0) }
    return exit
  }

  /// What the sources are made of: an uploader may treat a file differently.
  private struct Kind: Sendable {
    let name: String
    let sources: StoreUnderTest.SourceKind
  }

  private func check(_ kinds: [Kind], _ stores: Destinations) async -> [ContractTestView.Entry] {
    var entries: [ContractTestView.Entry] = []
    for promise in promises where !Task.isCancelled {
      let start = ContinuousClock.now
      var problem: String?
      for kind in kinds where problem == nil {
        let store = StoreUnderTest(sources: kind.sources, largeSize: largeSize) {
          try await stores.open(destination).uploader
        }
        problem = await self.problem(of: promise, store).map { "\($0) (\(kind.name))" }
      }
      if Task.isCancelled { break }
      let entry = ContractTestView.Entry(
        name: promise.name, sentence: promise.sentence, problem: problem,
        seconds: (ContinuousClock.now - start) / .seconds(1))
      entries.append(entry)
      // Somebody who went away is noticed by the last line.
      if !answer.json {
        try? OutputStream.standardOutput.write(ContractTestView.text(entry, .standardOutput()))
      }
    }
    return entries
  }

  /// What is broken, or nil. A check that never ends is a broken promise, too; one that is not even ended by
  /// cancelling it is left behind.
  private func problem(of promise: UploaderContractTest, _ store: StoreUnderTest) async -> String? {
    let (outcomes, outcome) = AsyncStream<String?>.makeStream(bufferingPolicy: .bufferingOldest(1))
    let check = Task {
      do throws(ContractViolation) {
        try await promise.check(store)
        outcome.yield(nil)
      } catch {
        outcome.yield(error.detail)
      }
    }
    // The first counts. It is waited for in a task that is not cancelled with this one.
    let first = Task { await outcomes.first { _ in true } ?? nil }
    let seconds = deadline / .seconds(1)
    let limit = Task {
      guard (try? await Task.sleep(for: deadline)) != nil else { return }
      check.cancel()
      guard (try? await Task.sleep(for: .seconds(10))) != nil else { return }
      outcome.yield("it did not end within \(seconds) s, nor when it was cancelled")
    }
    let problem = await withTaskCancellationHandler {
      await first.value
    } onCancel: {
      check.cancel()
    }
    limit.cancel()
    return problem
  }
}
