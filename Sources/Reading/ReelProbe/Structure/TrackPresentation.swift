/// What a player shows of one track, and for how long: by the times of its samples and its edit list, not by what its
/// headers claim (ISO/IEC 14496-12, 8.6.1.2 and 8.6.6).
struct TrackPresentation: Hashable {
  /// A rate in samples per second, as the fraction `samples` / `ticks`.
  struct Rate: Hashable {
    let samples: Int64
    let ticks: Int64

    var value: Double { Double(samples) / Double(ticks) }

    /// Returns nil if `speed` is not above 0, or the product is too large.
    ///
    /// - Parameter speed: a factor in 16.16 fixed point.
    func multiplied(by speed: Int64) -> Rate? {
      let (more, overflow) = samples.multipliedReportingOverflow(by: speed)
      let (longer, isTooLong) = ticks.multipliedReportingOverflow(by: 1 << 16)
      return speed > 0 && !overflow && !isTooLong ? Rate(samples: more, ticks: longer) : nil
    }
  }

  /// The seconds that all of its samples last, as they are shown.
  let mediaSeconds: Double
  /// The same by their decoding times. If the two differ, the presentation order makes a difference.
  let sumOfSteps: Double
  /// The seconds by which other samples are shown before the first one, which some headers do not count.
  let lead: Double
  /// Its duration in seconds, including what edits leave empty before, between and after its samples.
  let seconds: Double
  /// The seconds of samples that are shown.
  let shownSeconds: Double
  /// The number of samples that are shown, and of all samples.
  let shown: Int64
  let samples: Int64
  /// The samples per second, of those that are shown, or of all if none is; nil if they take no time.
  let rate: Rate?
  /// The samples per second, if all lasted as long as the usual one.
  let ordinaryRate: Double?
  /// The seconds that each sample lasts, if they come evenly and their times are rounded; otherwise nil.
  let evenStep: ClosedRange<Double>?
  /// Whether edits show some of it faster, slower or again.
  let isRetimed: Bool
  /// How fast edits show it, in 16.16 fixed point; nil if they do not change its speed, and 0 if they give it
  /// several.
  let speed: Int64?

  /// The most edits times runs of equal samples to go through.
  private static let mostSteps = 10_000_000

  /// Returns nil without samples or a clock, for times that no number holds, and for too many edits of too many runs.
  ///
  /// - Parameter movieScale: the ticks per second in which edits are counted.
  init?(_ track: ISOTrack, movieScale: UInt32?) {
    guard let scale = track.timescale.map(Int64.init), let told = track.times,
      let times = told.limited(to: track.counts.sizes ?? told.samples), let total = times.total
    else { return nil }
    let tick = 1 / Double(scale)
    samples = times.samples
    sumOfSteps = Double(total) * tick
    lead = Double(times.lead(offsets: track.firstOffsets)) * tick
    let edits = track.edits.flatMap { movieScale == nil ? nil : $0 } ?? []
    let shownTimes = track.handler == "vide" ? times.ofPictures(offsets: track.lastOffsets) : times
    let step = shownTimes.ordinaryStep
    let tail = Self.tail(times, of: track, total: total, edits, movieScale)
    mediaSeconds = Double(total + tail) * tick
    let windows = Self.windows(
      edits, of: track, total: total, tail: tail, step: step, lastStep: times.runs.last?.step ?? 0,
      movieScale ?? 1)
    guard windows.count * times.runs.count <= Self.mostSteps else { return nil }
    let isRetimed = edits.contains { $0.start != nil && $0.rate != 1 << 16 } || windows.count > 1
    self.isRetimed = isRetimed
    // An edit that holds one picture does not say how fast others follow one another.
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
      // Edits may show the same samples again and again.
      count = count.addingClamped(found.count)
      ticks = ticks.addingClamped(window.end - window.start)
      steps.insert(found.step)
    }
    shown = count
    let shownTail: Int64
    if let last = windows.last, last.end == total {
      shownTail = tail < 0 && last.start > 0 ? 0 : min(tail, last.beyond)
    } else {
      shownTail = 0
    }
    let shownTicks = max(0, ticks.addingClamped(shownTail))
    shownSeconds = Double(shownTicks) * tick
    if edits.contains(where: { $0.start != nil && $0.rate != 1 << 16 }) {
      seconds = edits.reduce(0) { $0 + Double($1.duration) / Double(movieScale ?? 1) }
    } else {
      seconds = waits + shownSeconds
    }
    let recorded: Rate?
    // What an edit cuts off at the beginning may look like a short tail.
    let hasLongTail = shownTail < 0 || shownTail / 3 > step / 2
    if count > 0, steps.count == 1, let only = steps.first.flatMap(\.self), only > 0, !hasLongTail {
      recorded = Rate(samples: scale, ticks: only)
    } else if count > 0, ticks > 0, shownTicks > 0, count < 1 << 31 {
      recorded = Rate(samples: count * scale, ticks: hasLongTail ? shownTicks : ticks)
    } else {
      let all = shownTimes.samples(from: 0, to: total)
      recorded =
        total > 0 && all.count < 1 << 31 ? Rate(samples: all.count * scale, ticks: total + min(0, tail)) : nil
    }
    rate = speed.map { speed in recorded.flatMap { $0.multiplied(by: speed) } } ?? recorded
  }

  /// Whether there are samples but the edit list shows none of them.
  var hidesAll: Bool { samples > 0 && shown == 0 }

  private struct Window {
    let start: Int64
    let end: Int64
    /// How far the edit continues beyond the end of the media.
    var beyond: Int64 = .max
  }

  /// Returns how much later the last sample ends by the times of showing than by those of decoding, in ticks: less than
  /// 0 if pictures come faster at the end than at the beginning, because they are decoded less far ahead there.
  ///
  /// Only if a header or the edit agrees: a single sample with an absurd time must not make the film longer.
  private static func tail(
    _ times: SampleTimes, of track: ISOTrack, total: Int64, _ edits: [TrackEdit], _ movieScale: UInt32?
  ) -> Int64 {
    let step = times.ordinaryStep
    guard
      let last = times.lastShown(of: total, offsets: track.lastOffsets, first: track.firstOffset),
      case let end = last.upperBound, end > 0
    else { return 0 }
    // How long the sample that is shown last lasts need not be what the one decoded last does.
    let possible = max(1, min(last.lowerBound, end - step))...(end + max(step, times.runs.last?.step ?? 0))
    let claimed = track.claimedTicks.flatMap { Int64(exactly: $0) } ?? 0
    if possible.contains(claimed), end > total { return max(0, min(end, claimed) - total) }
    // Samples that are shown before the first one are not in between.
    guard total - end > step, times.lead(offsets: track.firstOffsets) == 0, let scale = track.timescale,
      // If all come at one pace, they do not come faster at the end.
      times.evenStep(scale: Int64(scale)) == nil
    else { return 0 }
    if possible.contains(claimed) { return claimed - total }
    guard edits.count == 1, let only = edits.first, only.start == track.firstOffset, only.rate == 1 << 16,
      let movieScale, movieScale > 0,
      let shown = Int64(exactly: (Double(only.duration) / Double(movieScale) * Double(scale)).rounded()),
      possible.contains(shown)
    else { return 0 }
    return shown - total
  }

  /// Returns the stretches of the media that edits show, in ticks from the first sample's decoding time.
  ///
  /// - Parameter tail: how much later the last sample ends by the times of showing than by those of decoding.
  private static func windows(
    _ edits: [TrackEdit], of track: ISOTrack, total: Int64, tail: Int64, step: Int64, lastStep: Int64,
    _ movieScale: UInt32
  ) -> [Window] {
    guard edits.contains(where: { $0.start != nil }), let scale = track.timescale else {
      return edits.isEmpty ? [Window(start: 0, end: total)] : []
    }
    // A single edit without a duration, which is open-ended.
    if let only = edits.first, edits.count == 1, only.duration == 0, let start = only.start, start < total {
      return [Window(start: max(0, start - max(0, min(track.firstOffset, start))), end: total)]
    }
    return edits.compactMap { edit in
      guard let time = edit.start else { return nil }
      // From presentation to decoding times. Nothing is hidden of what is shown before the first decoded sample.
      let exact = max(0, time - max(0, min(track.firstOffset, time)))
      // If less than half of the first sample is cut off, all of it counts as shown.
      var start = exact < step / 2 ? 0 : exact
      let length =
        Double(edit.duration) / Double(movieScale) * Double(scale) * max(0, Double(edit.rate) / 65_536)
      guard start < total, length >= 1 else { return nil }
      var end = length < Double(total - exact) ? exact + Int64(length.rounded()) : total
      // Movies count in larger ticks than their media.
      if abs(total - end) < step || tail < 0 && end > total + tail - step { end = total }
      // Behind a slow beginning, a sample is decoded later by as much as does not come from the last one's length.
      if tail < 0, start > 0 {
        let later = max(0, -tail - max(0, lastStep - step))
        (start, end) = (start + later, min(total, end + later))
      }
      guard start < total else { return nil }
      let beyond = max(0, length - Double(total - start))
      return Window(start: start, end: end, beyond: beyond < 1e15 ? Int64(beyond) : .max)
    }
  }
}
