import ReelModel
import ReelSystem

/// A prober for tasks: on this thread where it may block, on one of its own elsewhere.
extension MediaProber {
  func probe(
    _ file: SourceFile, sniffed container: MediaContainer?
  ) async throws(ProbeError) -> ProbeReport {
    try await BlockingQueue(label: "reel.probe", width: 1).runCancellable { flag throws(ProbeError) in
      try probe(file, sniffed: container, cancellation: flag)
    }
  }

  func readerVersion() async throws(ProbeError) -> ReaderVersion {
    try await BlockingQueue(label: "reel.probe", width: 1).runCancellable { flag throws(ProbeError) in
      try readerVersion(cancellation: flag)
    }
  }
}
