import CFFmpeg

/// When packets of sound are heard, beside how long the frames in them last by their own headers.
struct SoundPackets {
  /// When a packet begins, in ticks, and in seconds of those before it.
  private var places: [(time: Int64, seconds: Double)] = []
  private var seconds = 0.0
  private var isBroken = false

  /// Packets that are looked at.
  private static let most = 1 << 12
  /// By which share a clock may be off, as a duration may.
  private static let tolerance = 0.01
  /// Seconds that it takes to tell.
  private static let telling = 1.0
  /// Parts of them that have to be off alike, or of more than that each second: where packets are missing here and there, or
  /// sound pauses, they are not.
  private static let parts = 4

  var isFull: Bool { isBroken || places.count >= Self.most }

  /// - Parameter seconds: nil where that is not known; then nothing follows from any of them.
  mutating func add(_ time: Int64?, lasting seconds: Double?) {
    if let time { places.append((time, self.seconds)) }
    if let seconds { self.seconds += seconds } else { isBroken = true }
  }

  /// By how much longer they last by their times than by their frames: 1 for no more than rounding, nil where they don't
  /// tell.
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
    // Several share a packet, and what is between two of these.
    let seconds = min(Double(places.count / 2), places[last].seconds - places[0].seconds)
    let parts = max(Self.parts, Int(seconds))
    let isSteady = (0..<parts).allSatisfy { part in
      let own = ratio(last * part / parts, last * (part + 1) / parts)
      return abs(own - all) <= abs(all - 1) / 2
    }
    return isSteady ? all : nil
  }
}
