import CReel
import Glibc
import ReelCore

/// Reads the files that are passed to a worker.
package protocol FileReader {
  /// The version of the library that reads them, such as libavformat's `59.27.100`.
  var version: String { get }

  /// Sets up what every picture needs, so that the workers that a fork server forks inherit it. Reads no file.
  /// Called in a confined fork server.
  func prepareForPictures()

  /// Reads one file by position. Called in a confined process, which can open nothing.
  /// - Parameter descriptor: The file; its offset is not moved, and it is not closed.
  func read(_ descriptor: Int32, _ request: ReadRequest) -> ReadReply

  /// Reads one file whose bytes the parent provides on request. Called in a confined process.
  func read(_ bytes: AskedBytes, _ request: ReadRequest) -> ReadReply

  /// Makes pictures. Called in a confined process that never reads anything else.
  /// - Parameter descriptor: As above.
  /// - Returns: The answer, and the bytes that it announces.
  func pictures(_ descriptor: Int32, _ request: PictureRequest) -> (PictureReply, [UInt8])

  /// Mends a file, or computes digests of it. Called in a confined process.
  /// - Parameters:
  ///   - descriptor: As above.
  ///   - output: The file to write; nil if there is none.
  ///   - willWrite: Called once, before anything is written, if anything is.
  func mend(
    _ descriptor: Int32, output: Int32?, _ request: MendRequest, willWrite: () -> Void
  ) -> MendReply
}

/// The main program of every worker: it reads untrusted files, one at a time, from descriptors that its parent
/// passes.
///
/// It takes no arguments and no environment, has a single thread, and never starts Swift's concurrency runtime:
/// everything it needs from the system is set up before it is confined.
package enum WorkerProgram {
  /// Serves the parent until it is gone, and ends the process. Returns, at once, only if no parent started the
  /// process.
  package static func run(_ reader: some FileReader) {
    guard reel_channel_is(reel_worker_channel) == 1 else { return }
    serve(reader)
    // Skip the exit handlers of a hundred libraries, which might do what a confined process may not.
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
      // The handshake tells a parent of another version about the mismatch.
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
