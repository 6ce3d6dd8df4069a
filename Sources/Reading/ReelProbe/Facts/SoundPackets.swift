import CFFmpeg

/// The times of packets of sound, and how long the frames in them last by their own headers.
struct SoundPackets {
  /// When each packet begins: in ticks, and in seconds of the packets before it.
  private var places: [(time: Int64, seconds: Double)] = []
  private var seconds = 0.0
  private var isBroken = false

  /// The most packets to examine.
  private static let most = 1 << 12
  /// The share by which a clock may be off, as a duration may.
  private static let tolerance = 0.01
  /// The fewest seconds of sound that allow a conclusion.
  private static let telling = 1.0
  /// The fewest parts that have to be off alike; of more seconds than that, each is a part. If packets are missing
  /// here and there, or the sound pauses, the parts are not alike.
  private static let parts = 4

  var isFull: Bool { isBroken || places.count >= Self.most }

  /// - Parameter seconds: how long the packet lasts; nil if that is not known, in which case nothing follows from any
  ///   packet.
  mutating func add(_ time: Int64?, lasting seconds: Double?) {
    if let time { places.append((time, self.seconds)) }
    if let seconds { self.seconds += seconds } else { isBroken = true }
  }

  /// Returns how many times longer the packets last by their times than by their frames: 1 if they differ by no more
  /// than rounding, nil if they are inconclusive.
  func pace(in base: AVRational) -> Double? {
    guard !isBroken, places.count >= 2 * Self.parts, base.den > 0 else { return nil }
    func ratio(_ from: Int, _ to: Int) -> Double {
      let ticks = Double(places[to].time) - Double(places[from].time)
      return ticks * Double(base.num) / Double(base.den) / (places[to].seconds - places[from].seconds)
    }
    let last = places.count - 1
    let all = ratio(0, last)
    guard places[last].seconds - places[0].seconds >= Self.telling, all.isFinite, all > 0 else { return nil }
    if abs(all - 1) <= Self.tolerance { return 1 }
    // Several frames share a packet, and a part needs two packets to measure what is between them.
    let seconds = min(Double(places.count / 2), places[last].seconds - places[0].seconds)
    let parts = max(Self.parts, Int(seconds))
    let isSteady = (0..<parts).allSatisfy { part in
      let own = ratio(last * part / parts, last * (part + 1) / parts)
      return abs(own - all) <= abs(all - 1) / 2
    }
    return isSteady ? all : nil
  }
}
