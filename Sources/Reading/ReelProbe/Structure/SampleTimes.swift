/// How long each sample of a track lasts (ISO/IEC 14496-12, 8.6.1.2), in runs of equal ones.
struct SampleTimes: Hashable {
  struct Run: Hashable {
    let count: Int64
    /// In ticks.
    let step: Int64
  }
  let runs: [Run]
  /// How many samples they are of.
  let samples: Int64

  /// Nil when there are none, or too many to be read.
  init?(_ box: ISOBox, of file: some ByteReading) {
    guard let count = file.bigEndian(at: box.contents + 4, width: 4), count > 0,
      count <= UInt64(ISOTrack.mostEntries)
    else { return nil }
    let room = Int(clamping: (box.end - box.contents - 8) / 8)
    let bytes = file.bytes(at: box.contents + 8, count: max(0, min(Int(count), room)) * 8)
    self.init(
      stride(from: 0, to: bytes.count - 7, by: 8).map { place in
        func number(_ at: Int) -> UInt32 { bytes[at..<(at + 4)].reduce(0) { $0 << 8 | UInt32($1) } }
        // Some writers put negative steps there, which take no time.
        return Run(count: Int64(number(place)), step: max(0, Int64(Int32(bitPattern: number(place + 4)))))
      })
  }

  /// Nil when there are none.
  init?(_ runs: [Run]) {
    self.runs = runs.filter { $0.count > 0 }
    samples = self.runs.reduce(0) { $0 + $1.count }
    guard samples > 0 else { return nil }
  }

  /// Only the first `count` samples of them; where there are fewer, the last one's step goes on, as players have it.
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

  /// In ticks; nil when no number holds it.
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

  /// When the last one to be shown ends, in ticks from when the first one is shown: `offsets` are those of the last samples,
  /// the very last one first.
  func shownEnd(of total: Int64, offsets: [Int64], first: Int64) -> Int64 {
    var (end, time, place) = (total, total, 0)
    for run in runs.reversed() {
      for _ in 0..<run.count {
        guard place < offsets.count else { return end }
        time -= run.step
        end = max(end, time + offsets[place] - first + run.step)
        place += 1
      }
    }
    return end
  }

  /// The step of the sample in the middle when all are put in order; of at most a thousand runs, spread evenly.
  var ordinaryStep: Int64 {
    let every = max(1, runs.count / 1000)
    let some = stride(from: 0, to: runs.count, by: every).map { runs[$0] }.sorted { $0.step < $1.step }
    let half = some.reduce(0) { $0 + $1.count } / 2
    var passed: Int64 = 0
    for run in some {
      passed += run.count
      if passed > half { return run.step }
    }
    return some.last?.step ?? 0
  }

  /// The samples that begin at `start` or later and before `end`, in ticks from the first one's beginning, and the step
  /// that all of them but the last have; nil where they differ.
  func samples(from start: Int64, to end: Int64) -> (count: Int64, step: Int64?) {
    var (time, count): (Int64, Int64) = (0, 0)
    var (step, last): (Int64?, Int64?) = (nil, nil)
    var isEven = true
    for run in runs where time < end {
      let whole = time + run.count * run.step
      defer { time = whole }
      guard whole > start || run.step == 0 else { continue }
      let skipped = run.step == 0 || time >= start ? 0 : (start - time + run.step - 1) / run.step
      let reached = run.step == 0 ? run.count : min(run.count, (end - time + run.step - 1) / run.step)
      guard reached > skipped else { continue }
      // Whatever came before it was not the last sample.
      if let last, step == nil { step = last }
      if let step, last != step { isEven = false }
      if reached - skipped > 1 {
        if let step, run.step != step { isEven = false }
        step = step ?? run.step
      }
      count += reached - skipped
      last = run.step
    }
    return (count, isEven ? step ?? last : nil)
  }
}
