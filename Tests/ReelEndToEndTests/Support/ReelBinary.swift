import Foundation
import Glibc
import ReelTestServers
import Synchronization
import Testing
import ReelTestSupport

/// The real binary, as a user runs it, built beside these tests.
struct ReelBinary {
  /// The results of a run.
  struct Outcome {
    let status: Int32
    let wasKilled: Bool
    let output: String
    let errors: String

    /// The output as a JSON object.
    func object() throws -> [String: Any] {
      try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any] ?? [:]
    }
  }

  /// A run in progress.
  final class Running {
    let process = Process()
    fileprivate let ended = Signal()
    fileprivate let captured: URL

    fileprivate init(captured: URL) {
      self.captured = captured
    }

    func send(_ signal: Int32) {
      kill(process.processIdentifier, signal)
    }

    func errorsSoFar() -> String {
      (try? String(contentsOf: captured.appendingPathComponent("err"), encoding: .utf8)) ?? ""
    }

    /// Returns whether the process writes `words` to standard error. Waits for that, or for its end.
    func says(_ words: String) async throws -> Bool {
      while true {
        let isRunning = process.isRunning
        if errorsSoFar().contains(words) { return true }
        if !isRunning { return false }
        try await rest(milliseconds: 10)
      }
    }

    /// Waits for the end without blocking a thread, as the tests have only as many as there are cores.
    func outcome() async throws -> Outcome {
      await ended.wait()
      defer { try? FileManager.default.removeItem(at: captured) }
      func text(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: captured.appendingPathComponent(name)), as: UTF8.self)
      }
      let outcome = Outcome(
        status: process.terminationStatus, wasKilled: process.terminationReason == .uncaughtSignal,
        output: try text("out"), errors: try text("err"))
      let faults = AnswerSchema.problems(of: outcome.output, process.arguments ?? [])
      #expect(
        faults.isEmpty, "docs/answers.schema.json: \(faults.joined(separator: "; ")): \(outcome.output)")
      return outcome
    }
  }

  /// The folder with the built programs.
  static var folder: URL {
    URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
  }

  /// Whether `REEL_FAILPOINT` works: only in a debug build.
  static var hasFailpoints: Bool {
    #if DEBUG
      true
    #else
      false
    #endif
  }

  static var url: URL { folder.appendingPathComponent("reel") }

  /// The project's root.
  static var project: URL {
    Checkout.root
  }

  /// The sanitizer options of `scripts/test --long`, which apply to the programs, too.
  private static let sanitizerOptions = ProcessInfo.processInfo.environment
    .filter { ["TSAN_OPTIONS", "ASAN_OPTIONS"].contains($0.key) }

  /// - Parameters:
  ///   - launcher: A program that runs the binary, with its arguments; empty for none.
  ///   - appendingProgram: Whether the program's path is passed to the launcher, in addition to the arguments.
  static func start(
    _ arguments: [String], in folder: URL, environment: [String: String] = [:], input: FileHandle? = nil,
    program: URL = url, launcher: [String] = [], appendingProgram: Bool = true
  ) throws -> Running {
    signalsHaveTheirDefaults
    let captured = FileManager.default.temporaryDirectory.appendingPathComponent(
      "reel-out-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: captured, withIntermediateDirectories: true)
    let running = Running(captured: captured)
    let process = running.process
    process.executableURL = launcher.first.map { URL(fileURLWithPath: $0) } ?? program
    process.arguments =
      launcher.isEmpty
      ? arguments : launcher.dropFirst() + (appendingProgram ? [program.path] : []) + arguments
    process.currentDirectoryURL = folder
    // Unless a test is about a deadline or a lease, a slow machine must not matter. A stopped process renews no lease.
    var defaults = [
      "HOME": folder.path, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "REEL_DEADLINE": "600",
    ]
    if environment["REEL_FAILPOINT"]?.hasSuffix("=stop") == true { defaults["REEL_LEASE_SECONDS"] = "3600" }
    process.environment = defaults.merging(sanitizerOptions) { $1 }.merging(environment) { $1 }
    process.standardInput = input ?? FileHandle.nullDevice
    let (output, errors) = (try emptyFile("out", in: captured), try emptyFile("err", in: captured))
    process.standardOutput = output
    process.standardError = errors
    let ended = running.ended
    process.terminationHandler = { _ in ended.fire() }
    try Spawning.alone { try process.run() }
    // Foundation keeps the process and its files. With over a thousand descriptors open, its `Process.run` reads beyond
    // their list (swift-corelibs-foundation, `findMaximumOpenFromProcSelfFD`).
    try output.close()
    try errors.close()
    return running
  }

  /// Signals that `nohup` or a shell's `&` made these tests ignore would be ignored by the programs they start, too.
  /// Those programs would then survive such a signal.
  private static let signalsHaveTheirDefaults: Void = {
    for number in [SIGINT, SIGTERM, SIGHUP] { signal(number, SIG_DFL) }
  }()

  private static func emptyFile(_ name: String, in folder: URL) throws -> FileHandle {
    let file = folder.appendingPathComponent(name)
    try Data().write(to: file)
    return try FileHandle(forWritingTo: file)
  }

  static func run(
    _ arguments: [String], in folder: URL, environment: [String: String] = [:], input: FileHandle? = nil
  ) async throws -> Outcome {
    try await start(arguments, in: folder, environment: environment, input: input).outcome()
  }

  /// Runs another program, such as a shell that pipes Reel's output.
  static func runProgram(
    _ program: String, _ arguments: [String], in folder: URL, environment: [String: String] = [:]
  ) async throws -> Outcome {
    try await start(
      arguments, in: folder, environment: environment, program: URL(fileURLWithPath: program)
    ).outcome()
  }
}

/// An event that happens once.
final class Signal: Sendable {
  private struct State {
    var hasFired = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }
  private let state = Mutex(State())

  func fire() {
    let waiting = state.withLock { state in
      state.hasFired = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  func wait() async {
    await withCheckedContinuation { continuation in
      let hasFired = state.withLock { state in
        if !state.hasFired { state.waiting.append(continuation) }
        return state.hasFired
      }
      if hasFired { continuation.resume() }
    }
  }
}

extension String {
  /// A command's output without the lines that only show progress, which it prints when it takes long.
  var withoutProgress: String { replacing(#/(?m)^\d+/\d+…? files.*\n/#, with: "") }
}
