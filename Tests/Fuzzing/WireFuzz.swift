import ReelCore
import ReelWire

/// Called by libFuzzer with each input. This is not a target of the package: `scripts/fuzz` builds it.
///
/// The input is decoded both as a frame, and as the kind and payload of a frame, so that the fuzzer does not have to
/// guess the envelope. A decoded value must encode to the same bytes.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzWire(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
  let bytes = Array(UnsafeBufferPointer(start: data, count: size))
  decodeAsEverything(bytes)
  if let kind = bytes.first {
    let length = withUnsafeBytes(of: UInt32(bytes.count - 1).littleEndian) { Array($0) }
    decodeAsEverything(Array("REEL".utf8) + [6, 1 + kind % 13] + length + bytes.dropFirst())
  }
  return 0
}

private func decodeAsEverything(_ frame: [UInt8]) {
  if let reply = try? ReadReply(decoding: frame) {
    guard let written = try? reply.encoded(), let read = try? ReadReply(decoding: written) else {
      preconditionFailure("what was read can't be written")
    }
    precondition(read == reply)
    if case .facts(let media, _, _, _, _) = reply { checkFacts(media) }
  }
  if let hello = try? WorkerHello(decoding: frame) { precondition((try? hello.encoded()) == frame) }
  if let start = try? WorkerStart(decoding: frame) { precondition((try? start.encoded()) == frame) }
  if let request = try? ReadRequest(decoding: frame) { precondition((try? request.encoded()) == frame) }
  if let notice = try? ForkReply(decoding: frame) { precondition((try? notice.encoded()) == frame) }
  if let ranged = try? RangedRequest(decoding: frame) { precondition((try? ranged.encoded()) == frame) }
  if let range = try? RangeRequest(decoding: frame) { precondition((try? range.encoded()) == frame) }
  if case .bytes(let bytes)? = try? RangeReply(decoding: frame) {
    precondition(bytes.count <= RangeRequest.largest)
  }
  _ = try? ForkRequest(decoding: frame)
  _ = try? ReceiptRequest(decoding: frame)
}

/// Checks for values that no reply may get past the decoder.
private func checkFacts(_ media: MediaInfo) {
  precondition(media.size >= 0)
  if let duration = media.duration { precondition(duration > 0 && duration < 1e9) }
  for side in [media.video?.width, media.video?.height].compactMap(\.self) {
    precondition(side > 0 && side < 1 << 21)
  }
  for text in [media.title, media.artist].compactMap(\.self) + media.warnings.map(\.message) {
    precondition(text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
  }
}
