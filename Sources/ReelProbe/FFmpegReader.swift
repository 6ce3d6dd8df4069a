import CFFmpeg
import ReelCore

/// Reads what a file says about itself with FFmpeg's libraries, in this process, on this thread.
///
/// The bytes are a stranger's: call it in a confined worker. It opens nothing, starts no thread, and writes
/// nothing anywhere.
public struct FFmpegReader {
  private let limits: ReadingLimits
  private let alwaysFull: Bool

  /// - Parameters:
  ///   - limits: how much one file may cost.
  ///   - alwaysFull: never to trust a header, also where it is provably right.
  public init(limits: ReadingLimits = .default, alwaysFull: Bool = false) {
    self.limits = limits
    self.alwaysFull = alwaysFull
  }

  /// The version of libavformat that reads, such as `59.27.100`.
  public static var version: String {
    let version = avformat_version()
    return "\(version >> 16).\(version >> 8 & 0xff).\(version & 0xff)"
  }

  /// Reads a file as `container`, and as nothing else.
  ///
  /// - Parameters:
  ///   - descriptor: open for reading; read by position, neither moved nor closed.
  ///   - size: the file's size in bytes.
  ///   - container: what the first bytes showed; the brand within its family is looked at again.
  /// - Throws: `empty`, `truncated`, `corrupt`, `unsupported`, `externalMedia`, `timeout`, `memoryLimit`,
  ///   `sourceChanged` or `unreadable`.
  public func read(
    descriptor: Int32, size: Int64, container: MediaContainer
  ) throws(ProbeError) -> Reading {
    guard size > 0 else { throw ProbeError(.empty, "it is empty") }
    reel_log_capture()
    av_max_alloc(max(0, limits.largestAllocation))
    let source = DescriptorSource(descriptor: descriptor, size: size, limits: limits)
    let structure = FileStructure(source, sniffed: container)
    let failure = ReadFailure(container: structure.container, limits: limits)
    if let cut = failure.indexIsCut(structure) { throw cut }
    let reading = FileReading(source: source, structure: structure, failure: failure, limits: limits)
    if !alwaysFull, let quick = try reading.readHeader(try reading.open()) { return quick }
    return try reading.readFully(try reading.open())
  }
}
