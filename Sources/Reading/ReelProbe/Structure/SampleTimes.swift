/// How long each sample of a track lasts (ISO/IEC 14496-12, 8.6.1.2), in runs of equal ones.
struct SampleTimes: Hashable {
  struct Run: Hashable {
    let count: Int64
    /// In ticks.
    let step: Int64
  }
  let runs: [Run]
  /// The total number of samples.
  let samples: Int64

  /// The most entries of a table that are kept: those of 4 hours of 60 frames a second, each with a duration of its
  /// own. Of a longer table only the number of samples of each duration is kept, as if equal ones followed one
  /// another.
  private static let mostRuns = 1 << 20
  /// The most durations of samples that are told apart in such a table.
  private static let mostSteps = 4096
  /// The most entries to read.
  private static let mostEntries = 1 << 24
  /// The entries to read at a time.
  private static let entriesAtOnce = 1 << 16

  /// Returns nil if there are none, or too many to be read, or too many different ones to be kept.
  init?(_ box: ISOBox, of file: some ByteReading) {
    guard let count = file.bigEndian(at: box.contents + 4, width: 4), count > 0 else { return nil }
    let entries = max(0, min(Int(count), Int(clamping: (box.end - box.contents - 8) / 8)))
    guard entries <= Self.mostEntries else { return nil }
    var (runs, steps): ([Run], [Int64: Int64]) = ([], [:])
    for first in stride(from: 0, to: entries, by: Self.entriesAtOnce) {
      let read = Self.runs(
        file.bytes(
          at: box.contents + 8 + 8 * Int64(first), count: 8 * min(Self.entriesAtOnce, entries - first)))
      if read.isEmpty { break }
      if entries <= Self.mostRuns {
        runs += read
        continue
      }
      for run in read {
        guard steps[run.step] != nil || steps.count < Self.mostSteps else { return nil }
        steps[run.step, default: 0] = steps[run.step, default: 0].addingClamped(run.count)
      }
    }
    self.init(runs + steps.sorted { $0.key < $1.key }.map { Run(count: $0.value, step: $0.key) })
  }

  private static func runs(_ bytes: [UInt8]) -> [Run] {
    bytes.withUnsafeBytes { table in
      func number(_ place: Int) -> UInt32 {
        UInt32(bigEndian: table.loadUnaligned(fromByteOffset: place, as: UInt32.self))
      }
      // Some writers store negative steps there, which take no time.
      return stride(from: 0, to: table.count - 7, by: 8).map {
        Run(count: Int64(number($0)), step: max(0, Int64(Int32(bitPattern: number($0 + 4)))))
      }
    }
  }

  /// Returns nil if there are none.
  init?(_ runs: [Run]) {
    self.runs = runs.filter { $0.count > 0 }
    samples = self.runs.reduce(Int64(0)) { $0.addingClamped($1.count) }
    guard samples > 0 else { return nil }
  }

  /// Returns only the first `count` samples. If there are fewer, the last one's step continues, as in players.
  func limited(to count: Int64) -> SampleTimes? {
    guard count != samples, let last = runs.last else { return self }
    if count > samples { return SampleTimes(runs + [Run(count: count - samples, step: last.step)]) }
    var left = count
    var kept: [Run] = []
    for run in runs where left > 0 {
      kept.append(Run(count: min(left, run.count), step: run.step))
      left -= run.count
    }
    return SampleTimes(kept)
  }

  /// Returns the times of whole pictures. If most samples take no time, and are shown at the moment of another, they
  /// are parts of one picture: some programs store what they receive packet by packet.
  ///
  /// - Parameter offsets: as for ``lastShown(of:offsets:first:)``.
  func ofPictures(offsets: [Int64]) -> SampleTimes {
    let parts = runs.reduce(Int64(0)) { $0.addingClamped($1.step == 0 ? $1.count : 0) }
    guard parts >= samples - parts, let lasting = SampleTimes(runs.filter { $0.step > 0 }) else {
      return self
    }
    var (moments, time, place): (Set<Int64>, Int64, Int) = ([], 0, 0)
    for run in runs.reversed() {
      for _ in 0..<min(run.count, Int64(Self.mostLast - place)) {
        time -= run.step
        moments.insert(time + (offsets.indices.contains(place) ? offsets[place] : 0))
        place += 1
      }
    }
    return moments.count * 4 <= place * 3 ? lasting : self
  }

  /// The samples at the end to look at.
  private static let mostLast = 32

  /// The total duration in ticks; nil if no number holds it.
  var total: Int64? {
    var total: Int64 = 0
    for run in runs {
      let (product, overflow) = run.count.multipliedReportingOverflow(by: run.step)
      let (sum, tooLarge) = total.addingReportingOverflow(product)
      guard !overflow, !tooLarge, sum < 1 << 62 else { return nil }
      total = sum
    }
    return total
  }

  /// Returns from when to when the sample that is shown last is shown, in ticks from when the first one is. Nil without
  /// offsets: it is the last one of all.
  ///
  /// - Parameter offsets: those of the last samples, the very last one first.
  func lastShown(of total: Int64, offsets: [Int64], first: Int64) -> ClosedRange<Int64>? {
    var (last, time, place): (ClosedRange<Int64>?, Int64, Int) = (nil, total, 0)
    for run in runs.reversed() {
      for _ in 0..<run.count {
        guard place < offsets.count else { return last }
        time -= run.step
        let start = time + offsets[place] - first
        if start + run.step > last?.upperBound ?? .min { last = start...(start + run.step) }
        place += 1
      }
    }
    return last
  }

  /// Returns by how many ticks samples are shown before the first one, as pictures are whose predecessors were cut off
  /// (the leading pictures of HEVC).
  ///
  /// - Parameter offsets: those of the first samples.
  func lead(offsets: [Int64]) -> Int64 {
    var (lead, time, place): (Int64, Int64, Int) = (0, 0, 0)
    for run in runs {
      for _ in 0..<min(run.count, Int64(offsets.count - place)) {
        lead = max(lead, offsets[0] - offsets[place] - time)
        time = time.addingClamped(run.step)
        place += 1
      }
      if place == offsets.count { break }
    }
    // They are among the samples that were looked at.
    return min(lead, time)
  }

  /// The median step of the samples, by at most about a thousand runs, spread evenly.
  var ordinaryStep: Int64 {
    let every = max(1, runs.count / 1000)
    let some = stride(from: 0, to: runs.count, by: every).map { runs[$0] }.sorted { $0.step < $1.step }
    let half = some.reduce(Int64(0)) { $0.addingClamped($1.count) } / 2
    var passed: Int64 = 0
    for run in some {
      passed = passed.addingClamped(run.count)
      if passed > half { return run.step }
    }
    return some.last?.step ?? 0
  }

  /// The step of all samples but a few; nil if there is none, or there are few samples.
  var steadyStep: Int64? {
    let step = ordinaryStep
    guard step > 0, samples >= 8 else { return nil }
    let others = runs.reduce(Int64(0)) { $0.addingClamped($1.step == step ? 0 : $1.count) }
    return others <= samples / 10 ? step : nil
  }

  /// Returns the seconds that each sample lasts, if they come evenly and their times are rounded; otherwise nil.
  ///
  /// - Parameter scale: ticks per second.
  func evenStep(scale: Int64) -> ClosedRange<Double>? {
    var steps = EvenSteps(scale: scale)
    for run in runs { steps.add(run.step, run.count) }
    return steps.seconds
  }

  /// The most samples that say nothing of their usual step if the first one has another.
  static let telling: Int64 = 8

  /// Returns the number of samples that begin at `start` or later and before `end`, in ticks from the first one's
  /// beginning, and the step of all of them but the last; nil if their steps differ. The first one may last a
  /// little longer, too, where a writer without an edit list lets it begin with the sound.
  func samples(from start: Int64, to end: Int64) -> (count: Int64, step: Int64?) {
    var (time, count): (Int64, Int64) = (0, 0)
    var (step, last, first): (Int64?, Int64?, Int64?) = (nil, nil, nil)
    var isEven = true
    for run in runs {
      guard time < end else { break }
      let whole = time + run.count * run.step
      defer { time = whole }
      guard whole > start || run.step == 0 else { continue }
      let skipped = run.step == 0 || time >= start ? 0 : (start - time + run.step - 1) / run.step
      let reached = run.step == 0 ? run.count : min(run.count, (end - time + run.step - 1) / run.step)
      guard reached > skipped else { continue }
      // Whatever came before this was not the last sample.
      if let last, step == nil {
        if first == nil { first = last } else { step = last }
      }
      if let step, last != step { isEven = false }
      if reached - skipped > 1 {
        if let step, run.step != step { isEven = false }
        step = step ?? run.step
      }
      count += reached - skipped
      last = run.step
    }
    guard isEven else { return (count, nil) }
    guard let first, let step, first != step else { return (count, step ?? first ?? last) }
    return (count, count > Self.telling && first / 2 < step ? step : nil)
  }
}
