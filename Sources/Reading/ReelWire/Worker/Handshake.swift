import ReelCore

/// The first frame a process sends: who it is, and how far it is confined.
struct Handshake {
  let channel: WorkerChannel
  /// The reader's.
  let version: String

  /// Whether it could be sent.
  func send(_ isolation: IsolationLevel) -> Bool {
    let version = ReaderVersion(reel: ReelVersion.current, ffmpeg: version)
    guard let frame = try? WorkerHello(version: version, isolation: isolation).encoded() else { return false }
    return channel.send(frame)
  }
}
