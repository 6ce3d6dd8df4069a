import Glibc
import ReelCore
import ReelProcess
import ReelStorage
import ReelStorageTesting
import ReelStores
import ReelTerminal

/// A check of an uploader's promises against a destination.
struct ContractTestSession: Sendable {
  let settings: Settings
  let destination: String
  let promises: [UploaderContractTest]
  let largeSize: Int
  let deadline: Duration
  let answer: AnswerOptions

  /// Checks the promises one after the other, and reports the result of each.
  /// - Throws: ``CommandFailure`` when the destination can't be made ready.
  func run() async throws -> ReelExit {
    let path = try? AppContext.libraryPath(settings)
    let stores = Stores(settings, library: path)
    let uploader = try await stores.open(destination).uploader
    try await uploader.prepare()
    let folder = try ProcessEnvironment.current().text("TMPDIR") ?? "/tmp"
    guard access(folder, W_OK | X_OK) == 0 else {
      throw CommandFailure(
        .couldNotRun,
        "can't create the files of the checks in \(folder) (\(SystemError.last("access").reason)): "
          + "set TMPDIR to another folder")
    }
    let kinds = [
      Kind(name: "from memory", sources: .bytes),
      Kind(
        name: "from a file",
        sources: .files(folder: folder)),
    ]
    // The reader may be gone.
    try? OutputStream.standardError.write(
      ContractTestView.beginning(
        promises.count, of: UploaderContractTest.all.count, destination: uploader.destination.name,
        removes: uploader.traits.removes, largeSize: largeSize, .standardError()))
    let interruption = RunSignals()
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

  /// How the sources of a check are made: an uploader may treat files differently from memory.
  private struct Kind: Sendable {
    let name: String
    let sources: StoreUnderTest.SourceKind
  }

  private func check(_ kinds: [Kind], _ stores: Stores) async -> [ContractTestView.Entry] {
    var entries: [ContractTestView.Entry] = []
    for promise in promises where !Task.isCancelled {
      let start = ContinuousClock.now
      var problem: String?
      for kind in kinds where problem == nil {
        let store = StoreUnderTest(sources: kind.sources, largeSize: largeSize) {
          try await stores.open(destination).uploader
        }
        problem = await promise.problem(of: store, within: deadline).map { "\($0) (\(kind.name))" }
      }
      if Task.isCancelled { break }
      let entry = ContractTestView.Entry(
        name: promise.name, sentence: promise.sentence, problem: problem,
        seconds: (ContinuousClock.now - start) / .seconds(1))
      entries.append(entry)
      // If the reader has gone away, the last line finds out.
      if !answer.json {
        try? OutputStream.standardOutput.write(ContractTestView.text(entry, .standardOutput()))
      }
    }
    return entries
  }
}
