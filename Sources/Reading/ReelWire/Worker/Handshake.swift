import ReelCore

/// The first frame that a process sends, with its version and its confinement.
struct Handshake {
  let channel: WorkerChannel
  /// The version of the file reader.
  let version: String

  /// Sends the frame; returns whether that succeeded.
  func send(_ isolation: IsolationLevel) -> Bool {
    let version = ReaderVersion(reel: ReelVersion.current, ffmpeg: version)
    guard let frame = try? WorkerHello(version: version, isolation: isolation).encoded() else { return false }
    return channel.send(frame)
  }
}
