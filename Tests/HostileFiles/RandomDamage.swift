/// Damage of the kinds that disks, networks and attackers cause, anywhere in a file.
public enum RandomDamage {
  /// Damages `whole` one to four times; half of the damages are near the beginning, where headers are.
  public static func damaged(_ whole: [UInt8], using random: inout some RandomNumberGenerator) -> [UInt8] {
    var bytes = whole
    for _ in 0..<Int.random(in: 1...4, using: &random) where bytes.count > 64 {
      let isEarly = Bool.random(using: &random)
      let place = Int.random(in: 0..<(isEarly ? min(bytes.count, 1024) : bytes.count), using: &random)
      let end = min(bytes.count, place + Int.random(in: 1...64, using: &random))
      switch Int.random(in: 0..<8, using: &random) {
      case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
      case 1: bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &random)
      case 2: bytes.removeSubrange(place..<end)
      case 3:
        let other = Int.random(in: 0..<bytes.count, using: &random)
        bytes.insert(contentsOf: Array(bytes[other..<min(bytes.count, other + 256)]), at: place)
      // The largest sizes, and unknown ones.
      case 4: for next in place..<min(end, place + 9) { bytes[next] = 0xFF }
      case 5: for next in place..<end { bytes[next] = 0 }
      case 6: bytes.removeSubrange(max(place, bytes.count / 4)...)
      // Space that was allocated and never written.
      default: bytes.replaceSubrange(max(place, bytes.count / 4)..., with: repeated([0], bytes.count / 8))
      }
    }
    return bytes
  }
}
