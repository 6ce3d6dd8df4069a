import CEscapes
import Glibc
import ReelCore
import ReelWire

/// A reader that was taken over for good: it keeps the files that come after its own, and reveals what it keeps.
struct Hoard {
  enum Way: String {
    /// In the only free descriptor.
    case slot
    /// In the standard descriptors, too.
    case room
    /// In the channel's queue, from which they are not removed.
    case queue
  }
  let way: Way

  func run(_ descriptor: Int32, _ request: ReadRequest) -> Never {
    close(descriptor)
    answer(MediaInfo(container: request.container, size: request.size), Self.receipt())
    if way == .room { for number in STDIN_FILENO...STDERR_FILENO { close(number) } }
    var kept: Int32 = -1
    while true {
      let (frame, file) = Self.hear(peeking: way == .queue)
      guard let request = try? ReadRequest(decoding: frame) else { _exit(9) }
      var media = MediaInfo(container: request.container, size: request.size)
      if HijackedReader.order(in: file) == "tell" {
        media.title = HijackedReader.order(in: kept)
        close(file)
      } else {
        media.title = "hoarded"
        if way == .queue { close(file) } else { kept = file }
      }
      answer(media, Self.receipt())
    }
  }

  /// The next message, and the descriptor with it, for which there may be no room.
  static func hear(peeking: Bool) -> ([UInt8], Int32) {
    var bytes = [UInt8](repeating: 0, count: 4096)
    var descriptor: Int32 = -1
    let count = reel_hear(&bytes, bytes.count, &descriptor, peeking ? 1 : 0)
    return (Array(bytes.prefix(max(0, Int(count)))), descriptor)
  }

  /// The receipt, as the honest part of the worker gets it; nil when there is none.
  static func receipt(peeking: Bool = false) -> Receipt? {
    let (_, descriptor) = hear(peeking: peeking)
    var bytes = [UInt8](repeating: 0, count: Receipt.length)
    let count = pread(descriptor, &bytes, bytes.count, 0)
    close(descriptor)
    return Receipt(bytes: Array(bytes.prefix(max(0, count))))
  }

  private func answer(_ media: MediaInfo, _ receipt: Receipt?) {
    guard let frame = try? ReadReply.facts(media, .header).encoded() else { return }
    let message = (receipt?.bytes ?? [UInt8](repeating: 0, count: Receipt.length)) + frame
    _ = message.withUnsafeBytes { reel_speak($0.baseAddress, $0.count, -1) }
  }
}
