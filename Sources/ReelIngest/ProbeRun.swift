import ReelModel
import ReelSource
import ReelSystem

/// Reads what files really are, several at once, and gives the answers in the order of the question.
public struct ProbeRun: Sendable {
  private let walk: SourceWalk
  private let prober: any MediaProber
  private let disk: BlockingQueue
  private let width: Int

  /// - Parameter width: files read at once, at least 1.
  public init(
    inputs: [SourceInput], walkOptions: WalkOptions = WalkOptions(), prober: any MediaProber,
    disk: BlockingQueue = BlockingQueue(label: "reel.disk", width: 8), width: Int
  ) {
    walk = SourceWalk(inputs: inputs, options: walkOptions)
    self.prober = prober
    self.disk = disk
    self.width = max(1, width)
  }

  /// Calls `report` for each file in order, until there are no more, `report` gives false, or the task is
  /// cancelled.
  ///
  /// - Throws: ``ProbeError`` of a code that is about the installation: no other file would fare better.
  public func run(_ report: (ProbedFile) async -> Bool) async throws(ProbeError) {
    try await run(preparing: { $0 }, report)
  }

  /// Calls `report` for each file in order, with what `prepare` made of the answer: several files are prepared at
  /// once, only the reports wait for each other.
  ///
  /// Ends, and throws, like ``run(_:)``.
  public func run<Prepared: Sendable>(
    preparing prepare: @escaping @Sendable (ProbedFile) -> Prepared, _ report: (Prepared) async -> Bool
  ) async throws(ProbeError) {
    var problem: ProbeError?
    await withTaskGroup(of: Answer<Prepared>.self) { group in
      var items = ItemSource(walk: walk, disk: disk)
      var ordered = Reordering<Answer<Prepared>>()
      var isOver = false
      while !isOver, let item = await items.next() {
        group.addTask { await answer(item, prepare) }
        isOver = item.file.number >= width * 3
      }
      while let answer = await group.next() {
        if !Task.isCancelled, let item = await items.next() {
          group.addTask { await self.answer(item, prepare) }
        }
        for answer in ordered.take(answer, at: answer.number) where !Task.isCancelled && problem == nil {
          problem = answer.installation
          guard problem == nil else { return group.cancelAll() }
          guard await report(answer.prepared) else { return group.cancelAll() }
        }
      }
    }
    if let problem { throw problem }
  }

  private func answer<Prepared>(
    _ item: NumberedItem, _ prepare: @Sendable (ProbedFile) -> Prepared
  ) async -> Answer<Prepared> {
    let file = await probe(item)
    return Answer(number: item.file.number, prepared: prepare(file), installation: file.installation)
  }

  private func probe(_ item: NumberedItem) async -> ProbedFile {
    let path = item.file.path
    do throws(StepFailure) {
      return await probe(try item.candidate(), path)
    } catch {
      return ProbedFile(path: path, result: .failure(error.failure))
    }
  }

  private func probe(_ found: FoundFile, _ path: SourcePath) async -> ProbedFile {
    let source: SourceFile
    do throws(SourceError) {
      source = try await disk.run { () throws(SourceError) in try found.open() }
    } catch {
      return ProbedFile(path: path, result: .failure(FileFailure(error)))
    }
    do throws(ProbeError) {
      return ProbedFile(path: path, result: .success(try await prober.probe(source)))
    } catch {
      var file = ProbedFile(path: path, result: .failure(FileFailure(error)))
      if error.code.isInstallation { file.installation = error }
      return file
    }
  }
}

/// What was read of one file.
public struct ProbedFile: Sendable {
  /// As the user or the walk named it.
  public let path: SourcePath
  /// Its facts, or why there are none.
  public let result: Result<ProbeReport, FileFailure>
  /// Why no other file will fare better.
  var installation: ProbeError?

  /// The answer for one file.
  public init(path: SourcePath, result: Result<ProbeReport, FileFailure>) {
    self.path = path
    self.result = result
  }
}

/// What becomes of one file.
private struct Answer<Prepared: Sendable>: Sendable {
  let number: Int
  let prepared: Prepared
  let installation: ProbeError?
}

/// The walk's candidates and failures, one at a time, numbered.
private struct ItemSource {
  let walk: SourceWalk
  let disk: BlockingQueue
  private var scan = ScanCount()
  private var batch: ArraySlice<WalkItem> = []

  init(walk: SourceWalk, disk: BlockingQueue) {
    self.walk = walk
    self.disk = disk
  }

  mutating func next() async -> NumberedItem? {
    while true {
      while let item = batch.popFirst() {
        if let numbered = scan.count(item) { return numbered }
      }
      let walk = walk
      batch = await disk.run { walk.next(upTo: 64) }[...]
      if batch.isEmpty { return nil }
    }
  }
}

/// Gives elements that come in any order back in their own.
struct Reordering<Element> {
  private var early: [Int: Element] = [:]
  /// The first is 1.
  private var expected = 1

  /// The elements whose turn has come now that `element` is there.
  mutating func take(_ element: Element, at index: Int) -> [Element] {
    early[index] = element
    var ready: [Element] = []
    while let next = early.removeValue(forKey: expected) {
      ready.append(next)
      expected += 1
    }
    return ready
  }
}
