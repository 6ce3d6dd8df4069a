/// The most that reading one file may cost. An honest file stays far below each of these limits.
package struct ReadingLimits: Hashable, Sendable {
  /// The number of bytes that may be read from the file. A byte that is read again counts again.
  package var bytes: Int64
  /// Seconds of monotonic time, from the start of the reading.
  package var seconds: Double
  /// The number of streams in one file.
  package var streams: Int
  /// The number of bytes of packets that FFmpeg may examine to identify the streams (`probesize`); at least 32.
  package var probeBytes: Int64
  /// The size in bytes of a single allocation by FFmpeg (`av_max_alloc`; one value per process, the last one set). An
  /// index takes 24 bytes per sample: by default there is room for 26 hours at 60 frames a second.
  package var largestAllocation: Int
  /// The number of packets that may be read to find a duration that no header states.
  package var scannedPackets: Int
  /// The number of bytes that may be read for that.
  package var scannedBytes: Int64

  /// - Parameters: as the properties.
  package init(
    bytes: Int64 = 512 << 20, seconds: Double = 8, streams: Int = 256, probeBytes: Int64 = 5_000_000,
    largestAllocation: Int = 128 << 20, scannedPackets: Int = 1_000_000,
    scannedBytes: Int64 = 256 << 20
  ) {
    self.bytes = bytes
    self.seconds = seconds
    self.streams = streams
    self.probeBytes = probeBytes
    self.largestAllocation = largestAllocation
    self.scannedPackets = scannedPackets
    self.scannedBytes = scannedBytes
  }

  /// Lets all packets be read, within the limits of time and bytes.
  package mutating func scanEverything() {
    scannedPackets = .max
    scannedBytes = .max
  }

  /// The limits of a worker. They allow less time than the deadline of its parent.
  package static let `default` = ReadingLimits()
}
