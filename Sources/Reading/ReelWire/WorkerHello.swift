import ReelCore

/// A worker's answer to ``WorkerStart``, and the first message of each worker of a fork server: its version and its
/// confinement.
package struct WorkerHello: Hashable, Sendable {
  /// The versions of Reel and FFmpeg.
  package let version: ReaderVersion
  /// The layers of confinement in effect.
  package let isolation: IsolationLevel

  /// - Parameters: See the properties.
  package init(version: ReaderVersion, isolation: IsolationLevel) {
    self.version = version
    self.isolation = isolation
  }

  /// Encodes the message as a frame.
  package func encoded() throws(WireError) -> [UInt8] {
    try WireFrame.encode(.hello) { writer throws(WireError) in
      writer.text(version.reel, limit: .name)
      writer.text(version.ffmpeg, limit: .name)
      writer.code(isolation)
    }
  }

  /// - Throws: ``WireError`` for anything except such a frame.
  package init(decoding frame: [UInt8]) throws(WireError) {
    self = try WireFrame.decode(frame, .hello) { reader throws(WireError) in
      WorkerHello(
        version: ReaderVersion(
          reel: try reader.text(limit: .name, "reel"), ffmpeg: try reader.text(limit: .name, "ffmpeg")),
        isolation: try reader.code(IsolationLevel.self, "isolation"))
    }
  }
}
