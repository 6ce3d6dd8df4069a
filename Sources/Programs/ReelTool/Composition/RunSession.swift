import ReelCore
import ReelFeeds
import ReelIngest
import ReelPage
import ReelProcess
import ReelSource
import ReelTerminal

/// One run on the command line: the view model, its views, the signals, and the final report.
struct RunSession: Sendable {
  let appContext: AppContext
  let output: RunOutputOptions
  let settings: Settings
  /// Where the events go; nil when none were asked for.
  let target: EventTarget?
  /// Lines to show while the run is under way.
  private let told = ToldLines()

  /// Opens everything for a run, as the settings say.
  /// - Parameters:
  ///   - appends: whether events are appended to those already in their file.
  /// - Throws: ``CommandFailure``.
  static func open(
    _ settings: Settings, _ options: IngestOptions, _ output: RunOutputOptions, appends: Bool = false
  ) async throws -> RunSession {
    let target = try EventTarget.open(output.events, appends: appends)
    let context = try await AppContext.open(
      settings, dryRun: options.dryRun, jobs: options.jobs, posters: options.posters,
      measures: output.metrics != nil)
    return try RunSession(appContext: context, output: output, settings: settings, target: target)
  }

  /// - Throws: ``CommandFailure`` where metrics would replace something else.
  private init(appContext: AppContext, output: RunOutputOptions, settings: Settings, target: EventTarget?)
    throws
  {
    (self.appContext, self.output, self.settings, self.target) = (appContext, output, settings, target)
    try output.metrics.map(OutputForm.metrics.check)
  }

  /// How a run ended, and what was seen of it.
  private struct End: Sendable {
    let summary: RunSummary
    let state: IngestState
    let troubles: ProblemList
    let files: RunFiles
    let result: PublishResult?
    let wasInterrupted: Bool
    let outputClosed: Bool
    /// What is to be looked up once the run is over.
    let known: KnownVideos?
    var knownVideos = KnownVideos.Found()
  }

  private var log: RunLog? { settings.logLevel.map { RunLog($0) } }

  private var metrics: MetricsWriter? {
    output.metrics.map {
      MetricsWriter(path: $0, times: appContext.stageTimes) { [prober = appContext.prober] in
        prober.replacedWorkers
      }
    }
  }

  /// Runs `reel ingest`.
  /// - Parameter page: where a report in HTML goes; nil when none was asked for.
  func ingest(
    _ inputs: [SourceInput], walk: WalkOptions, options: IngestOptions, page: UserFile?
  ) async throws -> ReelExit {
    var options = options
    options.countsAhead = style == .bar
    // Bars and plain lines only count these posts.
    options.tellsKnownPosts = target != nil || output.verbose
    var walk = walk
    let settle = walk.settle / .seconds(1)
    if output.verbose {
      walk.onPassed = { [told] in told.add(EndLine.text($0, $1, settle: settle)) }
    }
    let (end, exit) = try await run(
      .files(inputs, walk), options, wantsResult: false, listsFiles: page != nil)
    var report = report(of: end)
    report.settle = settle
    report.isFiltered = !walk.filter.takesAll
    (report.seconds, report.unheeded) = (end.knownVideos.seconds, end.knownVideos.unheeded)
    if let page {
      let illustration = ReportIllustration(settings: settings, followLinks: walk.followLinks)
      let pictures = await illustration.interruptiblePictures(
        of: end.wasInterrupted ? [] : end.files.pictured)
      let links = SourceLinks(from: page.path, workingFolder: WorkingFolder.path())
      try page.write(RunPage.html(report, end.files, pictures: pictures, links: links))
    }
    try tell(report, exit)
    return exit
  }

  /// Runs `reel work`.
  func work(_ work: WorkSession, options: IngestOptions) async throws -> ReelExit {
    var options = options
    options.tellsKnownPosts = target != nil || output.verbose
    let (end, exit) = try await run(.queue(work), options, wantsResult: false)
    try tell(report(of: end, .queue), exit)
    return exit
  }

  /// Runs `reel watch`, until a signal comes or the run can't continue.
  func watch(
    _ feed: WatchFeed, signals: WatchSignals, options: IngestOptions
  ) async throws -> RunReport {
    var options = options
    // Before a source file is removed, the object of its post is looked up, so the event must name the post.
    options.tellsKnownPosts = true
    let (end, _) = try await run(.watch(feed, signals), options, wantsResult: false)
    var report = report(of: end, .watch)
    report.waiting = feed.numbers.waiting
    return report
  }

  private func report(of end: End, _ origin: RunReport.Origin = .files) -> RunReport {
    var report = RunReport(end.summary, state: end.state, troubles: end.troubles)
    report.origin = origin
    report.trustsClientDigest = appContext.services.uploader.traits.trustsClientDigest
    return report
  }

  /// Warns those who watch the run, or who read its log.
  func warn(_ sentence: String) {
    if let log {
      log.write(LogLine(.warning, "watch.notice", [("code", "restarted"), ("message", sentence)]))
    } else {
      CommandFailure(.couldNotRun, sentence).tell()
    }
  }

  /// Reports what a watch is about to do.
  func greet(_ greeting: WatchGreeting) {
    if let log {
      for line in greeting.logged { log.write(line) }
    } else if style != .none || output.verbose {
      tell(greeting.sentences, command: nil)
    }
  }

  func tell(_ report: RunReport, _ exit: ReelExit) throws {
    try write(
      json: { try RunDocument(report).answer(ok: exit == .done).json(pretty: $0) },
      text: { report.text($0, listing: wereProblemsShown ? 0 : 20, hint: .ofThisProcess) })
  }

  /// Runs `reel publish`.
  func publish(_ file: SourceInput, walk: WalkOptions, options: IngestOptions) async throws -> ReelExit {
    var options = options
    options.jobs = 1
    var walk = walk
    walk.entersFolders = false
    let (end, exit) = try await run(.files([file], walk), options, wantsResult: true)
    let failure = end.summary.error ?? .cancelledBeforeItsTurn
    let outcome = PublishOutcome(
      path: file.path, result: end.result ?? .failed(failure), said: options.metadata,
      wantsPoster: options.posters != .none, hint: .ofThisProcess)
    // The log has already reported this problem.
    if let result = end.result, outcome.isProblem, !output.json, log?.tells(result) == true { return exit }
    // Standard output is for the post, if there is one.
    try write(
      json: { try outcome.json(pretty: $0) }, text: { outcome.text($0) },
      asError: outcome.isProblem && !output.json)
    if let notes = outcome.notes { tell(notes.sentences, command: notes.command) }
    return exit
  }

  /// Writes to standard error what accompanies the result on standard output. A command stays on one line, however
  /// long.
  private func tell(_ sentences: [String], command: String?) {
    let traits = TerminalTraits.standardError()
    let text = traits.text(sentences) + (command.map { traits.sanitized($0) + "\n" } ?? "")
    // The reader may be gone.
    try? OutputStream.standardError.write(text)
  }

  // MARK: Running

  /// The source of a run's files.
  private enum Inputs {
    case files([SourceInput], WalkOptions)
    case queue(WorkSession)
    case watch(WatchFeed, WatchSignals)

    var watched: (feed: WatchFeed, signals: WatchSignals)? {
      if case .watch(let feed, let signals) = self { (feed, signals) } else { nil }
    }

    /// The paths that the user named.
    var named: [SourcePath] {
      if case .files(let inputs, _) = self { inputs.map(\.path) } else { [] }
    }

    var walk: WalkOptions? {
      if case .files(_, let walk) = self { walk } else { nil }
    }

    var work: WorkSession? {
      if case .queue(let work) = self { work } else { nil }
    }
  }

  private func run(
    _ inputs: Inputs, _ options: IngestOptions, wantsResult: Bool, listsFiles: Bool = false
  ) async throws -> (End, ReelExit) {
    var options = options
    options.isAcknowledged = target != nil
    let services = appContext.services
    let model =
      switch inputs {
      case .files(let inputs, let walk):
        await IngestModel(inputs: inputs, walkOptions: walk, options: options, services: services)
      case .queue(let work): await IngestModel(feed: work.feed, options: options, services: services)
      case .watch(let feed, _): await IngestModel(feed: feed, options: options, services: services)
      }
    var end: End
    do {
      end = try await observe(
        model, of: inputs, wantsResult: wantsResult, listsFiles: listsFiles,
        known: inputs.walk != nil && !wantsResult ? KnownVideos() : nil)
      if end.summary.outcome == .completed, let known = end.known, let walk = inputs.walk {
        end.knownVideos = await known.found(options, services, followLinks: walk.followLinks)
      }
    } catch {
      // Report the first error, not one of closing.
      try? await appContext.close()
      throw error
    }
    do {
      try await appContext.close()
    } catch {
      // A run that the catalog ended reports that itself, and one that was interrupted leaves what it holds to the next
      // run.
      if end.summary.outcome != .aborted, !end.wasInterrupted { throw error }
    }
    if end.outputClosed { throw OutputClosed() }
    return (end, ReelExit(end.summary, end.troubles, wasInterrupted: end.wasInterrupted, named: inputs.named))
  }

  private func observe(
    _ model: IngestModel, of inputs: Inputs, wantsResult: Bool, listsFiles: Bool, known: KnownVideos?
  ) async throws -> End {
    let (work, watched) = (inputs.work, inputs.watched)
    watched?.feed.begin { model.tell($0) }
    // With `reel publish`, the end of the one file is the result, which is reported once.
    let display = ProgressDisplay(
      style: style, showsProblems: !wantsResult || output.json,
      telling: output.verbose ? .all : watched == nil ? .none : .published, told: told,
      isOfWatch: watched != nil)
    var measured = metrics
    if let feed = watched?.feed { measured?.watched = { feed.numbers } }
    let (log, metrics) = (log, measured)
    // Find out before anything is done whether the metrics file can be written.
    try metrics?.write(await model.state)
    let seen = await model.events()
    // Subscribe only what is going to be read: an unread stream keeps every event.
    let read = wantsResult ? await model.events() : nil
    let listed = listsFiles ? await model.events() : nil
    let counted = known == nil ? nil : await model.events()
    let written = target == nil ? nil : await model.events()
    let logged = log == nil ? nil : await model.events()
    async let listening: Void = display.listen(to: seen)
    async let logging: Void = Self.write(logged, to: log)
    async let result = PublishResult.last(in: read)
    async let files = RunFiles(listed)
    async let found = known?.noting(counted)
    // With an event target, outcomes are noted only after their events have been written: once an outcome is noted, no
    // later run may meet the file again, and a lost event would stay lost.
    let items = (work == nil && watched == nil) || written != nil ? nil : await model.events()
    let interruption = watched == nil ? RunSignals() : nil
    let run = Task { [appContext] in
      await withTaskCancellationHandler {
        await model.run()
      } onCancel: {
        appContext.makeHaste()
        work?.limitGrace { appContext.abandonClaims() }
      }
    }
    async let noted: Void = Self.note(items, of: inputs) { run.cancel() }
    let drawing = Task { await display.draw(model) }
    let measuring = Task { await metrics?.write(model) }
    async let closed = Self.write(written, of: model, to: target, inputs) { run.cancel() }
    let (summary, wasInterrupted) =
      if let signals = watched?.signals {
        await signals.ending(run) { watched?.feed.drain() }
      } else if let interruption {
        await interruption.cancelling(run)
      } else {
        (await run.value, false)
      }
    // Until here the display keeps drawing, and the metrics say that the run is under way. An error is thrown only when
    // both have ended.
    var problem: (any Error)?
    do { try await noted } catch { problem = error }
    await listening
    await logging
    drawing.cancel()
    await drawing.value
    measuring.cancel()
    await measuring.value
    // If the final metrics can't be written, that is reported, and so is how the run went.
    do { try await metrics?.write(model.state) } catch { CommandFailure(error)?.tell() }
    // Otherwise the feed and the model would retain each other.
    defer { watched?.feed.begin { _ in } }
    if let problem { throw problem }
    return End(
      summary: summary, state: await model.state, troubles: await display.troubles, files: await files,
      result: await result, wasInterrupted: wasInterrupted, outputClosed: try await closed,
      known: await found)
  }

  private static func note(
    _ events: IngestEvents?, of inputs: Inputs, orEnd end: @escaping @Sendable () -> Void
  ) async throws {
    guard let events else { return }
    for await batch in events.batches() { try await note(batch, of: inputs, orEnd: end) }
  }

  private static func note(
    _ batch: [IngestEvent], of inputs: Inputs, orEnd end: @Sendable () -> Void
  ) async throws {
    await inputs.watched?.feed.note(batch)
    do {
      try await inputs.work?.note(batch)
    } catch {
      end()
      throw error
    }
  }

  private static func write(_ events: IngestEvents?, to log: RunLog?) async {
    if let events { await log?.write(events) }
  }

  /// Writes the events. Returns true when their reader went away, in which case the run ends.
  private static func write(
    _ events: IngestEvents?, of model: IngestModel, to target: EventTarget?, _ inputs: Inputs,
    orEnd end: @Sendable () -> Void
  ) async throws -> Bool {
    guard let events, let target else { return false }
    do {
      try await EventWriter(target: target) { batch in
        await model.acknowledge(batch)
        try await note(batch, of: inputs) {}
      }.write(events)
      return false
    } catch is OutputClosed {
      end()
      return true
    } catch {
      end()
      throw error
    }
  }

  /// Whether the problems were already shown during the run in the place where the report goes: the same screen, or the
  /// same file (`2>&1`).
  private var wereProblemsShown: Bool {
    guard style != .none || log?.tellsProblems == true else { return false }
    let areTerminals = TerminalTraits.standardOutput().isTerminal && TerminalTraits.standardError().isTerminal
    return reportsToStandardError || areTerminals
      || OutputStream.standardError.isSamePlace(as: .standardOutput)
  }

  private var style: ProgressStyle {
    let resolved = (settings.progress ?? .auto).resolved(
      for: .standardError(), quiet: output.quiet || log != nil)
    // Log lines would break the bars.
    return resolved == .bar && log != nil ? .plain : resolved
  }

  // MARK: Reporting

  private var reportsToStandardError: Bool { target?.isStandardOutput == true }

  private func write(
    json: (Bool) throws -> String, text: (TerminalTraits) -> String, asError: Bool = false
  ) throws {
    let toStandardError = asError || reportsToStandardError
    let traits = toStandardError ? TerminalTraits.standardError() : TerminalTraits.standardOutput()
    let stream = toStandardError ? OutputStream.standardError : .standardOutput
    do {
      try stream.write(output.json ? json(traits.isTerminal) : text(traits))
    } catch is OutputClosed {
      // The run has ended, and its exit code says how.
    }
  }
}

extension ReelExit {
  init(_ summary: RunSummary, _ troubles: ProblemList, wasInterrupted: Bool, named: [SourcePath]) {
    if wasInterrupted || summary.outcome == .cancelled {
      self = .interrupted
    } else if summary.outcome == .aborted {
      self = .couldNotRun
    } else {
      var tally = ExitTally(named: named)
      for reason in summary.reasons.keys { tally.note(FileFailure.Code(rawValue: reason)) }
      for entry in troubles.entries { tally.note(FileFailure.Code(rawValue: entry.code), of: entry.path) }
      self = tally.exit
    }
  }

  /// Ends the command with this code, unless it is ``done``.
  func end() throws {
    if self != .done { throw CommandExit(code: self) }
  }
}

/// Ends the process with a code, when everything has been reported.
struct CommandExit: Error {
  let code: ReelExit
}

extension FileFailure {
  static let cancelledBeforeItsTurn = FileFailure(
    code: .cancelled, message: "interrupted before it was read; run the same command again to ingest it")
}
