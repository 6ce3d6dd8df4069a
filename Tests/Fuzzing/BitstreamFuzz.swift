/// Called by libFuzzer with each input. This is not a target of the package: `scripts/fuzz` builds it, together with
/// the readers of bitstream headers, which are internal to their module.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzBitstreams(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
  let bytes = Array(UnsafeBufferPointer(start: data, count: size))
  readNetworkUnits(bytes)
  readAV1(bytes)
  if let frame = VP8FrameHeader(bytes) { precondition(frame.width > 0 && frame.height > 0) }
  if let frame = VP9FrameHeader(bytes) { precondition(frame.width > 0 && frame.height > 0) }
  if let frame = ProResFrameHeader(bytes) { precondition(frame.width > 0 && frame.height > 0) }
  if let frame = DNxFrameHeader(bytes) { precondition(frame.width > 0 && frame.height > 0) }
  return 0
}

private func readNetworkUnits(_ bytes: [UInt8]) {
  for unit in StartCodeUnits(bytes) {
    precondition(!unit.isEmpty)
    readUnit(unit)
  }
  if let record = AVCConfiguration(bytes) {
    for set in record.sequenceParameterSets { readUnit(set[...]) }
    for unit in LengthPrefixedUnits(bytes, lengthSize: record.lengthSize) { readUnit(unit) }
  }
  for set in HEVCConfiguration(bytes)?.sequenceParameterSets ?? [] { readUnit(set[...]) }
  readUnit(bytes[...])
}

private func readUnit(_ unit: ArraySlice<UInt8>) {
  if let set = H264SequenceParameters(unit: unit) { precondition(set.width > 0 && set.height > 0) }
  if let set = HEVCSequenceParameters(unit: unit) { precondition(set.width > 0 && set.height > 0) }
  _ = SupplementalMessages(unit).overruleTransfer
}

private func readAV1(_ bytes: [UInt8]) {
  var sequence: AV1SequenceHeader?
  for unit in AV1Units(bytes[...]) {
    switch unit.type {
    case AV1Units.Kind.sequenceHeader: sequence = AV1SequenceHeader(unit.payload)
    default: if let sequence { _ = AV1FrameHeader(unit.payload, in: sequence) }
    }
  }
}
