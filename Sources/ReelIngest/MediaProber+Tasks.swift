import ReelModel
import ReelSystem

/// A prober for tasks: on a thread that may block, on one of its own elsewhere.
extension MediaProber {
  func probe(
    _ file: SourceFile, sniffed container: MediaContainer? = nil
  ) async throws(ProbeError) -> ProbeReport {
    try await Self.blocking { flag throws(ProbeError) in
      try probe(file, sniffed: container, cancellation: flag)
    }
  }

  func readerVersion() async throws(ProbeError) -> ReaderVersion {
    try await Self.blocking { flag throws(ProbeError) in try readerVersion(cancellation: flag) }
  }

  private static func blocking<Value: Sendable>(
    _ body: @escaping @Sendable (CancellationFlag) throws(ProbeError) -> Value
  ) async throws(ProbeError) -> Value {
    let flag = CancellationFlag()
    return try await flag.whileRunning { () async throws(ProbeError) in
      try await BlockingQueue(label: "reel.probe", width: 1).run { () throws(ProbeError) in try body(flag) }
    }
  }
}
