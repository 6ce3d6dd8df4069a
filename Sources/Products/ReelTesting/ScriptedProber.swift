import ReelCore
import Synchronization

/// A prober that returns what a closure returns for each file, and reads no file.
public final class ScriptedProber: MediaProber {
  /// The facts of a file, or why there are none.
  public typealias Script = @Sendable (SourceFile) throws(ProbeError) -> MediaInfo
  /// As ``Script``, but the closure may block until the flag is set.
  public typealias CancellableScript =
    @Sendable (SourceFile, CancellationFlag) throws(ProbeError) -> MediaInfo
  /// Stands for a look at a file's first bytes: throws an error for what is not a video.
  public typealias Look = @Sendable (SourceFile) throws(ProbeError) -> Void

  private let script: CancellableScript
  private let look: Look?
  private let installation: ProbeError?
  private let count = Mutex(0)

  /// The number of files that were probed.
  public var calls: Int { count.withLock { $0 } }

  /// - Parameters:
  ///   - installation: thrown when the reader's version is requested; nil for a reader that works.
  ///   - script: by default every file is a video of its own size.
  ///   - look: nil for a prober that does not look at a file's first bytes.
  public init(
    installation: ProbeError? = nil, _ script: @escaping Script = { .sample(size: $0.size) },
    look: Look? = nil
  ) {
    self.script = { file, _ throws(ProbeError) in try script(file) }
    (self.installation, self.look) = (installation, look)
  }

  /// - Parameter script: may wait for its flag.
  public init(cancellable script: @escaping CancellableScript) {
    self.script = script
    (look, installation) = (nil, nil)
  }

  /// Returns the script's facts.
  public func probe(
    _ file: SourceFile, sniffed container: MediaContainer?, patience: Duration?,
    cancellation: CancellationFlag
  ) throws(ProbeError) -> ProbeProgress {
    count.withLock { $0 += 1 }
    return .done(ProbeReport(media: try script(file, cancellation), provenance: .sample))
  }

  /// Differs from the real reader's version.
  public func readerVersion(cancellation: CancellationFlag) throws(ProbeError) -> ReaderVersion {
    if let installation { throw installation }
    return ReaderVersion(reel: "test", ffmpeg: ProbeProvenance.sample.ffmpeg)
  }

  /// Nil if there is no `look`.
  public var firstLookVersion: ReaderVersion? {
    look == nil ? nil : ReaderVersion(reel: "test", ffmpeg: "")
  }

  /// Throws the error of `look`, and never returns a container.
  public func firstLook(at file: SourceFile) throws(ProbeError) -> MediaContainer? {
    try look?(file)
    return nil
  }
}
