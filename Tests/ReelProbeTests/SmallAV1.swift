/// From aomenc: a key frame of 48x32 in a sequence of up to 64x64, as hardware encoders write 1080 lines in one of
/// 1088.
enum SmallAV1 {
  /// The sequence header; profile 0 is 4:2:0, 1 is 4:4:4.
  static func sequence(profile: UInt8) -> [UInt8] {
    [0x0A, 0x0A, profile << 5, 0, 0, 0x02, 0xAF, 0xFF, 0x9B, 0x5F, 0x20, profile == 0 ? 0x08 : 0x40]
  }
  static let picture: [UInt8] = [
    0x32, 0x0E, 0x12, 0x02, 0xF7, 0xC8, 0x08, 0, 0, 0x20, 0, 0, 0, 0x20, 0x1D, 0xA0,
  ]
  static let record: [UInt8] = [0x81, 0, 0x0C, 0] + sequence(profile: 0)
  static let frame: [UInt8] = [0x12, 0x00] + sequence(profile: 0) + picture
}
