import CReel
import Glibc
import ReelCore
import ReelWire

/// A worker's process and the parent's end of its channel. Used by one thread at a time.
///
/// When the last reference is released, the channel is closed and the process killed.
final class Worker {
  let process: ChildProcess
  let birth = ContinuousClock.now
  /// How many files the worker was sent.
  private(set) var files = 0
  private let channel: Descriptor
  private let buffer: FrameBuffer

  init(process: ChildProcess, channel: Descriptor, buffer: FrameBuffer) {
    self.process = process
    self.channel = channel
    self.buffer = buffer
  }

  /// The result of waiting for a frame.
  enum Received {
    case frame([UInt8])
    /// The deadline passed.
    case late
    /// The worker closed its end.
    case gone
    /// The message is larger than any frame.
    case tooMuch
  }

  /// Sends a request with the descriptor of its file; false if the worker is gone, or its channel is full.
  func send(_ request: [UInt8], descriptor: Descriptor) -> Bool {
    files += 1
    return send(request, rawDescriptor: descriptor.rawValue)
  }

  /// Sends a request about a file without a descriptor; false as above.
  func send(fileWithoutDescriptor request: [UInt8]) -> Bool {
    files += 1
    return send(request, rawDescriptor: -1)
  }

  /// Sends the descriptor of a receipt, which the worker can receive only after closing the file sent before; false
  /// as above.
  func send(_ receipt: IssuedReceipt) -> Bool {
    guard let request = try? ReceiptRequest().encoded() else { return false }
    return send(request, rawDescriptor: receipt.descriptor.rawValue)
  }

  /// Whether the worker has sent something unrequested, such as an answer prepared for the next request, or is gone.
  var speaksUnasked: Bool {
    var ready = reel_channel_wait(channel.rawValue, 0)
    while ready == -EINTR { ready = reel_channel_wait(channel.rawValue, 0) }
    return ready != 0
  }

  /// Sends a frame; false if the worker is gone, or its channel is full.
  func send(_ frame: [UInt8]) -> Bool {
    send(frame, rawDescriptor: -1)
  }

  /// A worker that has answered every request always has room for the next frame.
  private func send(_ frame: [UInt8], rawDescriptor: Int32) -> Bool {
    frame.withUnsafeBytes {
      reel_channel_send_at_once(channel.rawValue, $0.baseAddress, $0.count, rawDescriptor) == 0
    }
  }

  /// Waits for the next frame. Blocks. Descriptors that come with it never enter this process.
  func receive(until deadline: ContinuousClock.Instant) -> Received {
    guard wait(until: deadline) else { return .late }
    let bytes = buffer.bytes
    let count = reel_channel_receive_plain(channel.rawValue, bytes.baseAddress, bytes.count)
    if count > 0 { return .frame([UInt8](bytes.prefix(count))) }
    return count == Int(-EMSGSIZE) ? .tooMuch : .gone
  }

  private func wait(until deadline: ContinuousClock.Instant) -> Bool {
    while true {
      let left = max(.zero, deadline - .now)
      let result = reel_channel_wait(channel.rawValue, Int32(clamping: left.wholeMilliseconds))
      if result != -EINTR { return result > 0 }
    }
  }
}

/// The two ends of a new channel.
struct ChannelEnds {
  let ours: Descriptor
  let theirs: Descriptor

  init() throws(SystemError) {
    var ends: [Int32] = [-1, -1]
    let error = reel_channel_pair(&ends)
    guard error == 0 else { throw SystemError(code: -error, call: "socketpair") }
    ours = Descriptor(adopting: ends[0])
    theirs = Descriptor(adopting: ends[1])
  }
}

/// A buffer for one frame and the receipt before it, reused for all files. Used by one thread at a time.
final class FrameBuffer {
  let bytes = UnsafeMutableRawBufferPointer.allocate(
    byteCount: Receipt.length + WireFrame.largest, alignment: 16)

  deinit {
    bytes.deallocate()
  }
}

extension Duration {
  /// Whole milliseconds, rounded up.
  var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
    guard !overflow else { return .max }
    return product &+ (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
  }
}
