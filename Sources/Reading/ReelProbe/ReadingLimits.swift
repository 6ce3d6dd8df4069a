/// How much one file may cost. A file that is honest stays far below each of these.
package struct ReadingLimits: Hashable, Sendable {
  /// Bytes that may be read from the file, each reading of the same byte counted.
  package var bytes: Int64
  /// Seconds of monotonic time, from the start of the reading.
  package var seconds: Double
  /// Streams in one file.
  package var streams: Int
  /// Bytes of packets that FFmpeg may look at to find out what the streams are (`probesize`); at least 32.
  package var probeBytes: Int64
  /// Bytes of a single allocation by FFmpeg (`av_max_alloc`; one value for the process, the last one set). An
  /// index takes 24 bytes a sample: by default it may have 26 hours of 60 frames a second.
  package var largestAllocation: Int
  /// Packets that may be read to find a duration that no header tells.
  package var scannedPackets: Int
  /// Bytes that may be read for that.
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

  /// Lets all packets be read, as long as time and bytes last.
  package mutating func scanEverything() {
    scannedPackets = .max
    scannedBytes = .max
  }

  /// What a worker uses: less time than the deadline of its parent.
  package static let `default` = ReadingLimits()
}
