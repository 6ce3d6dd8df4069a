import ReelCore

/// Called by libFuzzer with each input. This is not a target of the package: `scripts/fuzz` builds it.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzSniffer(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
  let bytes = Array(UnsafeBufferPointer(start: data, count: size))
  if case .refused(let error) = Sniffer.verdict(head: bytes, size: Int64(size)) {
    precondition(error.found?.isEmpty == false && !error.message.isEmpty)
  }
  return 0
}
