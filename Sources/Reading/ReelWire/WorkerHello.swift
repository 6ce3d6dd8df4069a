import ReelCore

/// A worker's answer to ``WorkerStart``, and the first word of each worker of a fork server: who it is, and how far
/// it is confined.
package struct WorkerHello: Hashable, Sendable {
  /// Reel's version and FFmpeg's.
  package let version: ReaderVersion
  /// The layers that took hold.
  package let isolation: IsolationLevel

  /// - Parameters: as the properties.
  package init(version: ReaderVersion, isolation: IsolationLevel) {
    self.version = version
    self.isolation = isolation
  }

  /// The frame.
  package func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.hello) { writer throws(WireError) in
      writer.text(version.reel, limit: .name)
      writer.text(version.ffmpeg, limit: .name)
      writer.code(isolation)
    }
  }

  /// - Throws: ``WireError`` for anything but such a frame.
  package init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .hello) { reader throws(WireError) in
      WorkerHello(
        version: ReaderVersion(
          reel: try reader.text(limit: .name, "reel"), ffmpeg: try reader.text(limit: .name, "ffmpeg")),
        isolation: try reader.code(IsolationLevel.self, "isolation"))
    }
  }
}
