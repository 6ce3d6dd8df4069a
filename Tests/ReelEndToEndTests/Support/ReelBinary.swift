import Foundation
import Glibc
import ReelTestServers
import Synchronization
import Testing
import ReelTestSupport

/// The real binary, as a user runs it: built beside these tests.
struct ReelBinary {
  /// What a run of it gave.
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

  /// A run that is on.
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

    /// Whether it says `words` on standard error; waits for that, or for its end.
    func says(_ words: String) async throws -> Bool {
      while true {
        let isRunning = process.isRunning
        if errorsSoFar().contains(words) { return true }
        if !isRunning { return false }
        try await Task.sleep(for: .microseconds(Int(10_000)))
      }
    }

    /// Waits for the end, without a thread: the tests have as few as there are cores.
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

  /// The folder that the build put the programs in.
  static var folder: URL {
    URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
  }

  /// Whether it can be told where to fail (`REEL_FAILPOINT`): a debug build.
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

  /// What `scripts/test --long` tells the sanitizers is for the programs too.
  private static let sanitizerOptions = ProcessInfo.processInfo.environment
    .filter { ["TSAN_OPTIONS", "ASAN_OPTIONS"].contains($0.key) }

  /// - Parameters:
  ///   - launcher: a program, and its arguments, that runs the binary; empty for none.
  ///   - appendingProgram: whether the launcher is told the program; without it, only its arguments.
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
    // Where a deadline or a lease is not what is looked at, a machine may be as slow as it is: who is stopped renews none.
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
    // Foundation keeps the process and what it holds; and with over a thousand descriptors open its `Process.run`
    // reads beyond the list of them (swift-corelibs-foundation, `findMaximumOpenFromProcSelfFD`).
    try output.close()
    try errors.close()
    return running
  }

  /// What `nohup` or a shell's `&` told these tests to ignore would be ignored by the programs they start, too, and
  /// those that are sent such a signal would go on.
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

  /// Another program, such as a shell that pipes Reel somewhere.
  static func runProgram(
    _ program: String, _ arguments: [String], in folder: URL, environment: [String: String] = [:]
  ) async throws -> Outcome {
    try await start(
      arguments, in: folder, environment: environment, program: URL(fileURLWithPath: program)
    ).outcome()
  }
}

/// Something that happens once.
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
  /// What a command said, without the lines that only tell how far it is: it writes them where it takes long.
  var withoutProgress: String { replacing(#/(?m)^\d+/\d+…? files.*\n/#, with: "") }
}
