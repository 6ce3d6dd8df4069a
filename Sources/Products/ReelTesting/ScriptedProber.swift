import ReelCore
import Synchronization

/// A prober that says of every file what a closure says, and reads none.
public final class ScriptedProber: MediaProber {
  /// The facts of a file, or why there are none.
  public typealias Script = @Sendable (SourceFile) throws(ProbeError) -> MediaInfo
  /// The same, by a closure that blocks until the flag is set.
  public typealias CancellableScript =
    @Sendable (SourceFile, CancellationFlag) throws(ProbeError) -> MediaInfo
  /// What the first bytes of a file tell: an error for what is no video.
  public typealias Look = @Sendable (SourceFile) throws(ProbeError) -> Void

  private let script: CancellableScript
  private let look: Look?
  private let installation: ProbeError?
  private let count = Mutex(0)

  /// How many files it was asked for.
  public var calls: Int { count.withLock { $0 } }

  /// - Parameters:
  ///   - installation: thrown when the reader is asked for its version; nil for one that works.
  ///   - script: by default every file is a video of its own size.
  ///   - look: nil for a prober that tells nothing by a file's first bytes.
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

  /// What the script says.
  public func probe(
    _ file: SourceFile, sniffed container: MediaContainer?, patience: Duration?,
    cancellation: CancellationFlag
  ) throws(ProbeError) -> ProbeProgress {
    count.withLock { $0 += 1 }
    return .done(ProbeReport(media: try script(file, cancellation), provenance: .sample))
  }

  /// Another one than the real reader's.
  public func readerVersion(cancellation: CancellationFlag) throws(ProbeError) -> ReaderVersion {
    if let installation { throw installation }
    return ReaderVersion(reel: "test", ffmpeg: ProbeProvenance.sample.ffmpeg)
  }

  /// Nil where it does not look.
  public var firstLookVersion: ReaderVersion? {
    look == nil ? nil : ReaderVersion(reel: "test", ffmpeg: "")
  }

  /// Tells nothing but errors.
  public func firstLook(at file: SourceFile) throws(ProbeError) -> MediaContainer? {
    try look?(file)
    return nil
  }
}
