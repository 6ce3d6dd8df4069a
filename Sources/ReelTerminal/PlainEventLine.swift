import ReelCore
import ReelIngest

/// The lines of the two events of which a run over a large folder has the most, put together without an encoder.
/// They are the very bytes that the encoder would write: only where every text is plain, so that nothing in it needs
/// an escape.
enum PlainEventLine {
  /// Writes the line, or gives false and writes nothing.
  static func append(_ event: IngestEvent, at time: String, to line: inout [UInt8]) -> Bool {
    guard let file = event.body.file, isPlain(file.path.bytes) else { return false }
    let head = #"{"at":"\#(time)","#
    let place = #""file":\#(file.number),"path":""#
    let tail = #","type":"\#(event.body.type)","v":\#(IngestEvent.version)}"# + "\n"
    switch event.body {
    case .fileStarted(_, let size):
      line += (head + place).utf8
      line += file.path.bytes
      let bytes = size.map { "\($0)" } ?? "null"
      line += #"","seq":\#(event.sequence),"size":\#(bytes)"#.utf8
    case .fileFailed(_, let failure):
      guard isPlain(failure.code.utf8), isPlain(failure.message.utf8) else { return false }
      line += (head + #""error":{"code":"\#(failure.code)","message":"\#(failure.message)"},"# + place).utf8
      line += file.path.bytes
      line += #"","seq":\#(event.sequence)"#.utf8
    default: return false
    }
    line += tail.utf8
    return true
  }

  private static let quoting = [UInt8(ascii: "\""), UInt8(ascii: "\\")]
  private static let paired = [UInt8(ascii: "#"), UInt8(ascii: ":")]

  /// Printable ASCII without quotes and backslashes, and without the pairs that a CI runner acts on.
  private static func isPlain(_ text: some Sequence<UInt8>) -> Bool {
    var previous: UInt8 = 0
    for byte in text {
      if !(0x20...0x7E).contains(byte) || quoting.contains(byte) { return false }
      if byte == previous, paired.contains(byte) { return false }
      previous = byte
    }
    return true
  }
}
