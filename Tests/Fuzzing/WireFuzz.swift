import ReelModel
import ReelWire

/// What libFuzzer calls with each input: once as a frame, and once as the payload of a frame whose envelope is
/// right, so that the fields are reached. Not a target of the package: `scripts/fuzz` builds it.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzWire(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
  let bytes = Array(UnsafeBufferPointer(start: data, count: size))
  decodeAsEverything(bytes)
  guard let kind = bytes.first else { return 0 }
  let length = (0..<4).map { UInt8(truncatingIfNeeded: (bytes.count - 1) >> (8 * $0)) }
  decodeAsEverything(Array("REEL".utf8) + [1, 1 + kind % 6] + length + bytes.dropFirst())
  return 0
}

/// Each is refused, or is a value that can be written again and read back as the same.
private func decodeAsEverything(_ frame: [UInt8]) {
  check(frame, { bytes throws(WireError) in try WorkerStart(decoding: bytes) }, { try? $0.encoded() })
  check(frame, { bytes throws(WireError) in try WorkerHello(decoding: bytes) }, { try? $0.encoded() })
  check(frame, { bytes throws(WireError) in try ReadRequest(decoding: bytes) }, { try? $0.encoded() })
  check(frame, { bytes throws(WireError) in try ReadReply(decoding: bytes) }, { try? $0.encoded() })
  check(frame, { bytes throws(WireError) in try BirthRequest(decoding: bytes) }, { try? $0.encoded() })
  check(frame, { bytes throws(WireError) in try BirthNotice(decoding: bytes) }, { try? $0.encoded() })
  if case .facts(let media, _)? = try? ReadReply(decoding: frame) { checkFacts(media) }
}

private func check<Value: Equatable>(
  _ frame: [UInt8], _ decode: ([UInt8]) throws(WireError) -> Value, _ encode: (Value) -> [UInt8]?
) {
  guard let value = try? decode(frame) else { return }
  guard let again = encode(value) else { preconditionFailure("read, and can't be written again") }
  precondition((try? decode(again)) == value, "written again, it is another")
}

/// What no reply may get past the decoder.
private func checkFacts(_ media: MediaInfo) {
  precondition(media.size >= 0)
  if let duration = media.duration { precondition(duration > 0 && duration < 1e9) }
  if let width = media.video?.width { precondition(width > 0 && width < 1 << 21) }
  if let height = media.video?.height { precondition(height > 0 && height < 1 << 21) }
  for text in [media.title, media.artist].compactMap(\.self) + media.warnings {
    precondition(text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
  }
}
