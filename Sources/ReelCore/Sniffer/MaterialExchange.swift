/// MXF behind a run-in (SMPTE ST 377-1): up to 64 KiB of anything before the header partition pack's key.
enum MaterialExchange {
  /// The key, without the two bytes that tell open from closed and complete from incomplete.
  static let headerPartition: [UInt8] = [
    0x06, 0x0E, 0x2B, 0x34, 0x02, 0x05, 0x01, 0x01, 0x0D, 0x01, 0x02, 0x01, 0x01, 0x02,
  ]

  static func verdict(_ head: FilePrefix) -> SniffVerdict? {
    head.firstOffset(of: headerPartition) == nil ? nil : .container(.mxf)
  }
}
