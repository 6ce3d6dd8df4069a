/// Raw H.264, H.265 and H.266: units behind start codes (ITU-T H.264, H.265 and H.266, each annex B).
enum NetworkAbstractionUnits {
  static func verdict(_ head: FilePrefix) -> SniffVerdict? {
    guard let unit = firstUnit(head), let first = head.byte(unit), let second = head.byte(unit + 1),
      first & 0x80 == 0
    else { return nil }
    return kind(first, second).map { Refusal.rawStream("a raw \($0) stream").verdict }
  }

  /// Where the first unit begins: after two zeros or more, and a one.
  private static func firstUnit(_ head: FilePrefix) -> Int? {
    guard head.has([0, 0]) else { return nil }
    let zeros = head.slice(from: 0, count: 64).elements.prefix { $0 == 0 }.count
    return head.byte(zeros) == 1 ? zeros + 1 : nil
  }

  /// By the unit that may begin a stream: a parameter set, a delimiter, or (H.264) supplemental information.
  private static func kind(_ first: UInt8, _ second: UInt8) -> String? {
    let isFirstLayer = second & 7 != 0
    switch (first, first >> 1 & 0x3F, second >> 3) {
    // H.265: type in six bits, then the layer, which is 0, and the temporal layer, which is not.
    case (let first, 32...35, 0) where first & 1 == 0 && isFirstLayer: return "H.265"
    // H.266: the layer in the first byte, the type in five bits of the second.
    case (0, _, 13...20) where isFirstLayer: return "H.266"
    default: break
    }
    // H.264: type in five bits. A parameter set is one that others refer to.
    switch first & 0x1F {
    case 7 where first & 0x60 != 0, 9, 6: return "H.264"
    default: return nil
    }
  }
}
