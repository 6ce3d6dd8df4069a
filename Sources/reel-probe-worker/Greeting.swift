import ReelModel
import ReelProbe
import ReelWire

/// The first frame a reading process sends: who it is, and how far it is confined.
enum Greeting {
  /// Whether it could be sent.
  static func send(_ isolation: IsolationLevel, on channel: WorkerChannel) -> Bool {
    let version = ReaderVersion(reel: ReelVersion.current, ffmpeg: FFmpegReader.version)
    guard let frame = try? WorkerHello(version: version, isolation: isolation).encoded() else { return false }
    return channel.send(frame)
  }
}
