import CReel
import Glibc

/// The worker's end of its channel. Every frame is received into the same buffer, so that reading many files does
/// not allocate memory again and again.
final class WorkerChannel {
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: WireFrame.largest, alignment: 16)

  deinit {
    buffer.deallocate()
  }

  /// The result of waiting for the parent.
  enum Received {
    case frame([UInt8], descriptor: Int32?)
    /// The parent is gone, or sent something invalid.
    case end
  }

  /// Waits for the next frame. Blocks.
  func receive() -> Received {
    var descriptor: Int32 = -1
    let count = reel_channel_receive(reel_worker_channel, buffer.baseAddress, buffer.count, &descriptor)
    guard count > 0 else { return .end }
    return .frame([UInt8](buffer.prefix(count)), descriptor: descriptor >= 0 ? descriptor : nil)
  }

  /// Sends a frame; returns whether the parent was there to receive it.
  func send(_ frame: [UInt8]) -> Bool {
    frame.withUnsafeBytes {
      reel_channel_send(reel_worker_channel, $0.baseAddress, $0.count, -1) == 0
    }
  }
}
