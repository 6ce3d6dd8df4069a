import CReel
import Glibc
import ReelCore

/// Reads the files that a worker is handed.
package protocol FileReader {
  /// The version of what reads, such as libavformat's `59.27.100`.
  var version: String { get }

  /// Lays out what every picture needs, so that the workers that a fork server forks find it. Reads no file. Called in
  /// a fork server that is confined.
  func prepareForPictures()

  /// Reads one file by position. Called in a process that is confined: it can open nothing.
  /// - Parameter descriptor: the file; neither moved nor closed.
  func read(_ descriptor: Int32, _ request: ReadRequest) -> ReadReply

  /// Reads one file whose bytes the parent gives when it is asked for them. Called in such a process.
  func read(_ bytes: AskedBytes, _ request: ReadRequest) -> ReadReply

  /// Makes pictures. Called in such a process, which has read nothing else and reads nothing afterwards.
  /// - Parameter descriptor: as above.
  /// - Returns: the answer, and the bytes that it announces.
  func pictures(_ descriptor: Int32, _ request: PictureRequest) -> (PictureReply, [UInt8])

  /// Mends a file, or takes digests of it. Called in such a process.
  /// - Parameters:
  ///   - descriptor: as above.
  ///   - output: the file to be written; nil where there is none.
  ///   - willWrite: called once before anything is written, if it is.
  func mend(
    _ descriptor: Int32, output: Int32?, _ request: MendRequest, willWrite: () -> Void
  ) -> MendReply
}

/// What every worker does: it reads strangers' files, one at a time, from descriptors that its parent passes to it.
///
/// It takes no arguments and no environment, has one thread, and never starts Swift's concurrency runtime: what
/// it needs of the system is settled before it is confined.
package enum WorkerProgram {
  /// Serves the parent until it is gone, and ends the process. Returns, at once, only when no parent has started it.
  package static func run(_ reader: some FileReader) {
    guard reel_channel_is(reel_worker_channel) == 1 else { return }
    serve(reader)
    // Without the last words of a hundred libraries, which may do what a confined process may not.
    _exit(0)
  }

  private static func serve(_ reader: some FileReader) {
    _ = reel_child_die_with_parent()
    reel_child_keep_heap()
    reel_confine_prepare()
    let channel = WorkerChannel()
    let handshake = Handshake(channel: channel, version: reader.version)
    let loop = ReadingLoop(channel: channel, reader: reader)
    guard case .frame(let frame, _) = channel.receive(), let start = try? WorkerStart(decoding: frame) else {
      // A parent of another version learns it from the handshake.
      _ = handshake.send(.none)
      return
    }
    switch start.role {
    case .unconfined: if handshake.send(.none) { loop.run() }
    case .confined: if handshake.send(Confinement.ofWorker(start).level) { loop.run() }
    case .forkServer, .mendingForkServer:
      ForkServer(channel: channel, handshake: handshake, loop: loop)
        .run(start, mends: start.role == .mendingForkServer)
    }
  }
}
