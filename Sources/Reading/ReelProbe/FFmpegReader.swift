import CFFmpeg
import ReelCore

/// Reads what a file says about itself, with FFmpeg's libraries, in this process and on the calling thread.
///
/// The bytes are untrusted: call it in a confined worker. It opens nothing, starts no thread, and writes nothing
/// anywhere.
package struct FFmpegReader {
  /// The ways that read no more than they need.
  package static let quickWays: Set<ProbeMethod> = [.header, .packets, .full]

  private let limits: ReadingLimits
  private let ways: Set<ProbeMethod>

  /// - Parameters:
  ///   - limits: how much one file may cost.
  ///   - ways: the ways that may be taken. The full way is always allowed if no other works. If this contains the
  ///     thorough way, only that is taken.
  package init(limits: ReadingLimits = .default, ways: Set<ProbeMethod> = quickWays) {
    self.limits = limits
    self.ways = ways
  }

  /// The version of the libavformat in use, such as `59.27.100`.
  package static var version: String {
    let version = avformat_version()
    return "\(version >> 16).\(version >> 8 & 0xff).\(version & 0xff)"
  }

  /// Reads a file as `container`, and as nothing else.
  ///
  /// - Parameters:
  ///   - file: where its bytes come from.
  ///   - size: the file's size in bytes.
  ///   - container: the container that the first bytes showed. The brand within its family is examined again.
  /// - Throws: `empty`, `truncated`, `corrupt`, `unsupported`, `externalMedia`, `timeout`, `memoryLimit`,
  ///   `sourceChanged` or `unreadable`.
  package func read(
    _ file: FileBytes, size: Int64, container: MediaContainer
  ) throws(ProbeError) -> Reading {
    guard size > 0 else { throw ProbeError(.empty, "it is empty") }
    reel_log_capture()
    av_max_alloc(max(0, limits.largestAllocation))
    let source = BoundedSource(file, size: size, limits: limits)
    let structure = FileStructure(source, sniffed: container)
    let failure = ReadFailure(container: structure.container, limits: limits)
    if let cut = failure.indexIsCut(structure, source) { throw cut }
    let clock = structure.iso == nil ? ContentClock.read(source, structure) : nil
    if let changed = failure.changed(structure, clock, source) { throw changed }
    let reading = FileReading(
      source: source, structure: structure, clock: clock, failure: failure, limits: limits)
    return try reading.read(by: ways)
  }
}
