/// What a player shows of one track, and how long: by the times of its samples and its edit list, not by what its headers
/// claim (ISO/IEC 14496-12, 8.6.1.2 and 8.6.6).
struct TrackPresentation: Hashable {
  /// So many samples in so many seconds.
  struct Rate: Hashable {
    let samples: Int64
    let ticks: Int64

    var value: Double { Double(samples) / Double(ticks) }

    /// - Parameter speed: above 0, as 16.16; nil for another one.
    func multiplied(by speed: Int64) -> Rate? {
      let (more, overflow) = samples.multipliedReportingOverflow(by: speed)
      let (longer, isTooLong) = ticks.multipliedReportingOverflow(by: 1 << 16)
      return speed > 0 && !overflow && !isTooLong ? Rate(samples: more, ticks: longer) : nil
    }
  }

  /// Seconds that all of its samples last, as they are shown.
  let mediaSeconds: Double
  /// The same by their times of decoding: where they last differently, the order of showing makes a difference.
  let sumOfSteps: Double
  /// Seconds that it takes, with what edits leave empty before, between and after its samples.
  let seconds: Double
  /// Seconds of samples that are shown.
  let shownSeconds: Double
  /// How many are shown, of how many.
  let shown: Int64
  let samples: Int64
  /// Samples a second, of those that are shown, or of all where none is; nil where they take no time.
  let rate: Rate?
  /// Samples a second, if all lasted as long as the ordinary one does.
  let ordinaryRate: Double?
  /// Seconds that each sample lasts, where they come evenly and their times are rounded; nil else.
  let evenStep: ClosedRange<Double>?
  /// Whether edits show some of it faster, slower or again.
  let isRetimed: Bool
  /// How fast edits show it, as 16.16; nil where they leave its speed as it is, and 0 where they give it several.
  let speed: Int64?

  /// Edits times runs of equal samples that are gone through.
  private static let mostSteps = 10_000_000

  /// Nil without samples or a clock, for times that no number holds, and where there are too many edits of too many runs.
  ///
  /// - Parameter movieScale: the ticks a second that edits are counted in.
  init?(_ track: ISOTrack, movieScale: UInt32?) {
    guard let scale = track.timescale.map(Int64.init), let told = track.times,
      let times = told.limited(to: track.counts.sizes ?? told.samples), let total = times.total
    else { return nil }
    let tick = 1 / Double(scale)
    samples = times.samples
    sumOfSteps = Double(total) * tick
    // Where its header agrees: a single sample whose time is wild makes no film longer.
    let latest = times.shownEnd(of: total, offsets: track.lastOffsets, first: track.firstOffset)
    let claimed = track.claimedTicks.flatMap { Int64(exactly: $0) } ?? 0
    let isClaimed = latest > total && abs(latest - claimed) <= times.ordinaryStep
    let tail = isClaimed ? max(0, min(latest, claimed) - total) : 0
    mediaSeconds = Double(total + tail) * tick
    let shownTimes = track.handler == "vide" ? times.ofPictures(offsets: track.lastOffsets) : times
    let step = shownTimes.ordinaryStep
    let edits = track.edits.flatMap { movieScale == nil ? nil : $0 } ?? []
    let windows = Self.windows(edits, of: track, total: total, step: step, movieScale ?? 1)
    guard windows.count * times.runs.count <= Self.mostSteps else { return nil }
    let isRetimed = edits.contains { $0.start != nil && $0.rate != 1 << 16 } || windows.count > 1
    self.isRetimed = isRetimed
    // What holds one picture does not say how fast others follow one another.
    let speeds = Set(edits.filter { $0.start != nil && $0.rate > 0 }.map { Int64($0.rate) })
    let speed = speeds.isSubset(of: [1 << 16]) ? nil : speeds.count == 1 ? speeds.first : 0
    self.speed = speed
    ordinaryRate =
      step > 0 && speed != 0 ? Double(scale) / Double(step) * Double(speed ?? 1 << 16) / 65_536 : nil
    evenStep = isRetimed ? nil : shownTimes.evenStep(scale: scale)
    let waits = edits.filter { $0.start == nil }.reduce(0) {
      $0 + Double($1.duration) / Double(movieScale ?? 1)
    }
    var (count, ticks): (Int64, Int64) = (0, 0)
    var steps: Set<Int64?> = []
    for window in windows {
      let found = shownTimes.samples(from: window.start, to: window.end)
      // Edits may show the same again and again.
      count = count.addingClamped(found.count)
      ticks = ticks.addingClamped(window.end - window.start)
      steps.insert(found.step)
    }
    shown = count
    let shownTail = windows.last?.end == total ? min(tail, windows.last?.beyond ?? tail) : 0
    let shownTicks = ticks.addingClamped(shownTail)
    shownSeconds = Double(shownTicks) * tick
    if edits.contains(where: { $0.start != nil && $0.rate != 1 << 16 }) {
      seconds = edits.reduce(0) { $0 + Double($1.duration) / Double(movieScale ?? 1) }
    } else {
      seconds = waits + shownSeconds
    }
    let recorded: Rate?
    // What an edit cuts off at the beginning may look like a short one.
    let hasLongTail = shownTail / 3 > step / 2
    if count > 0, steps.count == 1, let only = steps.first.flatMap(\.self), only > 0, !hasLongTail {
      recorded = Rate(samples: scale, ticks: only)
    } else if count > 0, ticks > 0, count < 1 << 31 {
      recorded = Rate(samples: count * scale, ticks: hasLongTail ? shownTicks : ticks)
    } else {
      let all = shownTimes.samples(from: 0, to: total)
      recorded = total > 0 && all.count < 1 << 31 ? Rate(samples: all.count * scale, ticks: total) : nil
    }
    rate = speed.map { speed in recorded.flatMap { $0.multiplied(by: speed) } } ?? recorded
  }

  /// Whether there are samples and the edit list shows none of them.
  var hidesAll: Bool { samples > 0 && shown == 0 }

  private struct Window {
    let start: Int64
    let end: Int64
    /// How far the edit goes on behind the end of the media.
    var beyond: Int64 = .max
  }

  /// The stretches of the media that edits show, in ticks from the first sample's time of decoding.
  private static func windows(
    _ edits: [TrackEdit], of track: ISOTrack, total: Int64, step: Int64, _ movieScale: UInt32
  ) -> [Window] {
    guard edits.contains(where: { $0.start != nil }), let scale = track.timescale else {
      return edits.isEmpty ? [Window(start: 0, end: total)] : []
    }
    // One that is left open, and nothing else.
    if let only = edits.first, edits.count == 1, only.duration == 0, let start = only.start, start < total {
      return [Window(start: max(0, start - max(0, min(track.firstOffset, start))), end: total)]
    }
    return edits.compactMap { edit in
      guard let time = edit.start else { return nil }
      // Of what is shown before it is decoded first nothing is hidden.
      let exact = max(0, time - max(0, min(track.firstOffset, time)))
      // Of the first sample the larger part is shown.
      let start = exact < step / 2 ? 0 : exact
      let length =
        Double(edit.duration) / Double(movieScale) * Double(scale) * max(0, Double(edit.rate) / 65_536)
      guard start < total, length >= 1 else { return nil }
      var end = length < Double(total - exact) ? exact + Int64(length.rounded()) : total
      // Movies count in larger ticks than their media.
      if abs(total - end) < step { end = total }
      let beyond = max(0, length - Double(total - start))
      return Window(start: start, end: end, beyond: beyond < 1e15 ? Int64(beyond) : .max)
    }
  }
}
