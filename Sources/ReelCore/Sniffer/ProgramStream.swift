/// MPEG program streams (ISO/IEC 13818-1, 2.5.3.3, and ISO/IEC 11172-1): a pack header, then another start
/// code.
enum ProgramStream {
  static func verdict(_ head: FilePrefix) -> SniffVerdict? {
    guard head.has([0, 0, 1, 0xBA]), let marker = head.byte(4) else { return nil }
    let length: Int
    if marker & 0xC0 == 0x40 {
      // MPEG-2: the last three bits of the fourteenth byte count the stuffing.
      length = 14 + Int((head.byte(13) ?? 0) & 7)
    } else if marker & 0xF0 == 0x20 {
      length = 12
    } else {
      return nil
    }
    let isFollowed =
      head.count < length + 4 || head.has([0, 0, 1], at: length) || head.has([0, 0, 0], at: length)
    return isFollowed ? .container(.mpegPS) : nil
  }
}
