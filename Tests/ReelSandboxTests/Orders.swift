import ReelCore

@testable import ReelSandbox

/// The worker whose reader obeys orders in the file, built beside these tests.
enum Sabotaged {
  static let name = "reel-sabotaged-worker"
  static var worker: WorkerLocation { .path(Program.path(name)) }

  /// A prober with sabotaged workers.
  static func prober(
    _ isolation: IsolationRequest = .auto, workers: Int = 1, deadline: Duration = patience,
    filesPerWorker: Int = 1000, limits: ProbeLimits = ProbeLimits(), mends: Bool = false
  ) -> SandboxedProber {
    SandboxedProber(
      worker: worker, isolation: isolation, workers: workers, deadline: deadline,
      filesPerWorker: filesPerWorker, limits: limits, idleTime: patience, mends: mends)
  }
}

/// An MP4 that satisfies the sniffer, with an order for the sabotaged reader after its first 32 bytes.
func order(_ words: String) -> [UInt8] {
  smallMP4 + Array(words.utf8)
}

extension SandboxedProber {
  /// The code of the error that probing throws, or nil if it succeeds.
  func code(_ file: SourceFile) async -> ProbeError.Code? {
    await failure(file)?.code
  }

  func failure(_ file: SourceFile) async -> ProbeError? {
    do throws(ProbeError) {
      _ = try await probe(file)
      return nil
    } catch {
      return error
    }
  }

  /// What the sabotaged reader reports about itself.
  func report(_ file: SourceFile) async throws -> String {
    try await probe(file).media.warnings.first?.message ?? ""
  }
}
