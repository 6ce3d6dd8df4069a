import CEscapes
import Glibc
import ReelCore
import ReelWire

/// What a reader that was taken over asks for.
enum RangeSabotage {
  /// Obeys `order`, which is about asking. Returns once it gets an answer as an honest reader does.
  static func perform(_ order: String, _ bytes: AskedBytes, _ request: ReadRequest, _ receipt: Receipt) {
    switch order {
    case "behind": ask(RangeRequest(position: request.size, count: 10), receipt)
    case "far": ask(RangeRequest(position: .max, count: 65_536), receipt)
    case "negative": speak(frame(position: -1, count: 10), receipt)
    case "many": speak(frame(position: 0, count: 65_537), receipt)
    case "none": speak(frame(position: 0, count: 0), receipt)
    case "stale": ask(RangeRequest(position: 0, count: 10), Receipt(bytes: [UInt8](repeating: 7, count: 16)))
    case "flood":
      // Nothing receives the answers.
      while true { ask(RangeRequest(position: 0, count: 65_536), receipt) }
    case "endless":
      withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 16) { buffer in
        while bytes.read(into: buffer, at: 0, expecting: 0) != nil {}
      }
      _exit(0)
    default: Sabotage.perform(order)
    }
    var kept = [UInt8](repeating: 0, count: 1 << 17)
    var descriptor: Int32 = -1
    _ = reel_hear(&kept, kept.count, &descriptor, 0)
  }

  private static func ask(_ request: RangeRequest, _ receipt: Receipt?) {
    speak((try? request.encoded()) ?? [], receipt)
  }

  private static func speak(_ frame: [UInt8], _ receipt: Receipt?) {
    guard let message = receipt?.with(frame) else { return }
    _ = message.withUnsafeBytes { reel_speak($0.baseAddress, $0.count, -1) }
  }

  /// A question that no honest reader writes. The numbers follow the ten bytes of the envelope.
  private static func frame(position: Int64, count: Int64) -> [UInt8] {
    var frame = (try? RangeRequest(position: 0, count: 1).encoded()) ?? []
    for (offset, number) in [(10, position), (18, count), (26, count)] where frame.count >= offset + 8 {
      withUnsafeBytes(of: number.littleEndian) { frame.replaceSubrange(offset..<offset + 8, with: $0) }
    }
    return frame
  }
}
