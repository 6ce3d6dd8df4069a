import CFFmpeg

/// A reader of the times in one of MPEG's multiplexes, which have no header. It reads all of a small file. Of a large
/// one it reads windows that are spread evenly, and closer together where the clock seems to jump.
struct MPEGClock<Bytes: ByteReading> {
  private let file: Bytes
  private let multiplex: Multiplex
  private var clock: ContentClock
  /// The number of bytes per second where the clock runs on.
  private var rate = 0.0

  /// The two multiplexes, which carry the same packets of elementary streams (ISO/IEC 13818-1, 2.4.3.6).
  private enum Multiplex {
    /// - Parameters:
    ///   - stride: the number of bytes from one packet to the next.
    ///   - scrambled: whether the times of packets cannot be read, so that the program's clock is used instead.
    case transport(stride: Int, scrambled: Bool)
    case program
  }

  /// The times of one packet in a window of the file.
  private struct Moment {
    let key: Int
    let time: Int64
    let decoded: Int64
    let isPicture: Bool
    /// The position of its packet.
    var place: Int64 = 0
    /// The size of the packet in bytes; 0 if it is not stated.
    let bytes: Int64

    /// Whether something explains why it waits for so long.
    var isSlow = false

    /// The time from decoding to display. Nil if that is more than the ten seconds for which a decoder could hold a
    /// picture, and nothing explains it: then the time is wrong.
    var wait: Int64? { isLong && !isSlow ? nil : longWait }

    var isLong: Bool { abs(longWait) > 900_000 }

    /// The same without that limit, for a packet after a pause, which its decoding time need not include.
    var longWait: Int64 { difference(time, decoded) }
  }

  /// The size of a window in bytes.
  private static var window: Int64 { 192 << 10 }
  /// The number of windows that are read first.
  private var windows: Int64 { file.isFar ? 4 : 24 }
  /// The number of windows that are read in all.
  private static var mostWindows: Int { 400 }
  /// The number of windows that are added to find missing pictures.
  private static var mostPauseWindows: Int { 8 }
  /// The shortest pause that is looked for, in seconds without a packet.
  private static var shortestPause: Double { 2 }
  /// The longest step from one packet to the next, in seconds, unless something shows that the clock continues.
  private static var longestStep: Int64 { 10 }
  private static var wrap: Int64 { 1 << 33 }

  /// - Parameters:
  ///   - stride: 188, 192 or 204 for a transport stream; nil for a program stream.
  ///   - scrambled: whether the payload of its packets is scrambled.
  ///
  /// Nil if it has no times.
  static func read(_ file: Bytes, stride: Int?, scrambled: Bool = false) -> ContentClock? {
    let multiplex = stride.map { Multiplex.transport(stride: $0, scrambled: scrambled) } ?? .program
    var reader = MPEGClock(file: file, multiplex: multiplex, mayPause: false)
    let found = reader.read()
    guard found?.jumpingAlone != nil, reader.hasPicturesAlone else { return found }
    reader = MPEGClock(file: file, multiplex: multiplex, mayPause: true)
    return reader.read()
  }

  /// Whether long steps ahead are checked for other signs that the clock continues. It may where there are only
  /// pictures, one of which stays.
  private let mayPause: Bool
  private var hasPicturesAlone = false

  private init(file: Bytes, multiplex: Multiplex, mayPause: Bool) {
    self.file = file
    self.multiplex = multiplex
    self.mayPause = mayPause
    clock = ContentClock(base: AVRational(num: 1, den: 90_000), ahead: Double(Self.longestStep))
    clock.mayEndAnywhere = true
  }

  private mutating func read() -> ContentClock? {
    // Windows of a larger file do not overlap.
    if file.size <= windows * Self.window {
      let moments = moments(in: 0..<file.size)
      hasPicturesAlone = Self.arePicturesAlone(moments)
      take(moments)
      countPictures(behind: moments)
      let parts = parts(of: moments)
      if parts.count > 1 { clock.note(parts: parts) }
      clock.isWhole = true
    } else {
      readWindows()
    }
    return clock.extents.isEmpty ? nil : clock
  }

  private mutating func take(_ moments: [Moment]) {
    for moment in moments {
      let decoded = unwrapped(moment.decoded, moment.key)
      let isPause = isPause(before: moment)
      if let wait = isPause ? moment.longWait : moment.wait {
        clock.add(
          moment.key, at: decoded + wait, decoded: decoded, lasting: lasting(moment, decoded),
          isPause: isPause)
      } else {
        clock.isUnclear = true
        clock.note(moment.key, decoded: decoded)
      }
      note(moment, decoded)
      last = moment
    }
  }

  /// The packets of a sound stream except the last: how many there are, their bytes, and their duration in ticks.
  private struct Passed {
    var packets = 0.0
    var bytes = 0.0
    var ticks = 0.0
    var last: (time: Int64, bytes: Int64)?
  }

  private var passed: [Int: Passed] = [:]

  /// Returns the duration of a packet of sound that may have fewer frames than the others, as the last one may: in
  /// proportion to its bytes, but no more than the average of the others. 0 if that is not known.
  private mutating func lasting(_ moment: Moment, _ time: Int64) -> Int64 {
    guard !moment.isPicture, moment.bytes > 0 else { return 0 }
    var own = passed[moment.key] ?? Passed()
    if let last = own.last, case let step = time &- last.time, (1...Self.longestSound).contains(step) {
      own.packets += 1
      own.bytes += Double(last.bytes)
      own.ticks += Double(step)
    }
    own.last = (time, moment.bytes)
    passed[moment.key] = own
    guard own.packets > 0 else { return 0 }
    return Int64(own.ticks * min(1 / own.packets, Double(moment.bytes) / own.bytes))
  }

  /// The longest duration of a packet of sound, in ticks.
  private static var longestSound: Int64 { 90_000 }

  /// The last moment that was taken.
  private var last: Moment?

  /// The first decoding time of each stream, and where its packet is.
  private var firsts: [Int: (decoded: Int64, place: Int64)] = [:]

  /// The last decoding time of each stream, extended beyond 33 bits.
  private var before: [Int: Int64] = [:]

  private mutating func note(_ moment: Moment, _ decoded: Int64) {
    if before[moment.key] == nil { firsts[moment.key] = (decoded, moment.place) }
    before[moment.key] = decoded
  }

  private var beginning: Int64?

  private mutating func unwrapped(_ time: Int64, _ key: Int) -> Int64 {
    // Parallel streams are less than half a wraparound apart.
    guard let last = before[key] ?? beginning else {
      beginning = time
      return time
    }
    return last &+ Self.difference(time, last)
  }

  /// Returns the difference between two times, in whichever direction is shorter across a wraparound.
  private static func difference(_ later: Int64, _ earlier: Int64) -> Int64 {
    let step = (later &- earlier) & (wrap - 1)
    return step >= wrap / 2 ? step - wrap : step
  }

  // MARK: Windows

  /// A part of the file that was read.
  private struct Window {
    let bytes: Range<Int64>
    let moments: [Moment]
    /// Whether nothing shows if the clock jumps somewhere between this window and the one before.
    var isUnclear = false
  }

  private mutating func look(at bytes: Range<Int64>) -> Window {
    Window(bytes: bytes, moments: moments(in: bytes))
  }

  private mutating func readWindows() {
    let starts = (0..<windows).map { $0 * ((file.size - Self.window) / (windows - 1)) }
    var found = starts.map { look(at: $0..<min(file.size, $0 + Self.window)) }
    guard let key = commonKey(found.map(\.moments)) else { return }
    learnRate(found, key)
    lookCloser(&found, key)
    if !file.isFar {
      lookForPauses(&found, key)
      // Between two of the added windows, more time may pass than their bytes explain.
      lookCloser(&found, key)
    }
    notePauses(found)
    hasPicturesAlone = Self.arePicturesAlone(found.flatMap(\.moments))
    for window in found {
      // Packets were left out between two windows, and only there.
      takeFar(window, key)
      clock.keepsTimes = false
      noteSteps(window.moments)
      clock.noteSeen(window.moments.map(\.key))
    }
    if let last = found.last { countPictures(behind: last.moments) }
    if parts(of: found.flatMap(\.moments)).count > 1 { clock.isUnclear = true }
    if clock.extents[key]?.stretches.count == 1 { takeEnds(found.map(\.moments), besides: key) }
  }

  /// Where the clock jumps between two windows, inserts another in the middle of the largest gap between them, until
  /// they touch.
  private mutating func lookCloser(_ found: inout [Window], _ key: Int) {
    func next(from place: Int) -> Int? {
      found.indices.dropFirst(place).first { found[$0].moments.contains { $0.key == key } }
    }
    guard var left = next(from: 0) else { return }
    while let right = next(from: left + 1) {
      let gaps = (left..<right).map { ($0, found[$0].bytes.upperBound..<found[$0 + 1].bytes.lowerBound) }
      guard let (place, gap) = gaps.max(by: { $0.1.count < $1.1.count }), !gap.isEmpty,
        isJump(
          found[left].moments.last { $0.key == key }, found[right].moments.first { $0.key == key },
          found[right].bytes.lowerBound - found[left].bytes.lowerBound)
      else {
        left = right
        continue
      }
      guard found.count < (file.isFar ? 16 : Self.mostWindows) else {
        found[right].isUnclear = true
        clock.isUnclear = true
        left = right
        continue
      }
      let start = gap.lowerBound + max(0, Int64(gap.count) - Self.window) / 2
      found.insert(look(at: start..<min(gap.upperBound, start + Self.window)), at: place + 1)
    }
  }

  /// Inserts a few windows in the middle of gaps in which much more time passes than their bytes explain: pictures may
  /// be missing there while the sound continues.
  private mutating func lookForPauses(_ found: inout [Window], _ key: Int) {
    for _ in 0..<Self.mostPauseWindows {
      let gaps = zip(found.indices, found.indices.dropFirst()).map { (left, right) in
        (right, excess(found[left], found[right], key))
      }
      guard let (right, seconds) = gaps.max(by: { $0.1 < $1.1 }), seconds > 0 else { return }
      let gap = found[right - 1].bytes.upperBound..<found[right].bytes.lowerBound
      let start = gap.lowerBound + max(0, Int64(gap.count) - Self.window) / 2
      found.insert(look(at: start..<min(gap.upperBound, start + Self.window)), at: right)
    }
  }

  /// Returns the seconds between two windows that the bytes between them do not explain, even at half the byte rate
  /// that the windows themselves have. 0 if they explain them.
  private func excess(_ left: Window, _ right: Window, _ key: Int) -> Double {
    let bytes = Double(right.bytes.lowerBound - left.bytes.upperBound)
    let (own, next) = (left.moments.filter { $0.key == key }, right.moments.filter { $0.key == key })
    guard bytes > 0, let last = own.last, let first = next.first, rate > 0 else { return 0 }
    let rates = [rate] + [(left, own), (right, next)].compactMap { Self.rate($1.first, $1.last, $0.bytes) }
    let seconds = Double(Self.difference(first.decoded, last.decoded)) / 90_000
    let unexplained = seconds - 2 * bytes / (rates.min() ?? rate)
    return unexplained > Self.shortestPause && !isJump(last, first, Int64(bytes)) ? unexplained : 0
  }

  /// Notes streams that have no packets for a long time in a window in which another stream has some.
  private mutating func notePauses(_ windows: [Window]) {
    let own = windows.map { window in
      Dictionary(grouping: window.moments, by: \.key).mapValues { $0.map(\.decoded) }
    }
    // In each window, the two streams that continue for longest: one of them is not the one that may pause. They need
    // several packets without gaps, because a single packet may come long after the others.
    let lively = own.map { window in
      window.filter { _, times in
        times.count >= 4
          && Self.steps(times).allSatisfy { (0...Int64(90_000 * Self.shortestPause)).contains($0) }
      }.map { (key: $0, begin: $1[0], end: $1[$1.count - 1]) }
        .sorted { Self.difference($0.end, $0.begin) > Self.difference($1.end, $1.begin) }.prefix(2)
    }
    for key in Set(own.flatMap(\.keys)) {
      let steps = own.flatMap { Self.steps($0[key] ?? []) }
      let ordinary = steps.isEmpty ? 0 : steps.sorted()[steps.count / 2]
      guard let first = own.firstIndex(where: { $0[key] != nil }),
        let last = own.lastIndex(where: { $0[key] != nil })
      else { continue }
      let isPausing = own[first...last].enumerated().contains { place, window in
        let mine = window[key] ?? []
        return lively[first + place].contains { other, begin, end in
          guard other != key else { return false }
          // The time before the first packet of a stream, and after its last, is no pause.
          let marks =
            (place == 0 ? [] : [begin]) + mine + (first + place == last ? [] : [end])
          return Self.steps(marks).contains {
            Double($0) > max(90_000 * Self.shortestPause, 10 * Double(ordinary))
          }
        }
      }
      if isPausing { clock.notePause(key) }
    }
  }

  private static func steps(_ times: [Int64]) -> [Int64] {
    zip(times, times.dropFirst()).map { difference($1, $0) }
  }

  /// Takes both ends of the other streams, which may begin earlier and end later.
  private mutating func takeEnds(_ windows: [[Moment]], besides key: Int) {
    guard let first = clock.extents[key]?.stretches.first?.first, windows.count > 1 else { return }
    let ends = [windows[0], windows[windows.count - 1]]
    for other in Set(ends.joined().map(\.key)).subtracting([key]) {
      var before = first
      for (place, end) in ends.enumerated() {
        for (number, moment) in end.filter({ $0.key == other }).enumerated() {
          guard let wait = moment.wait else {
            clock.isUnclear = true
            continue
          }
          let decoded = before &+ Self.difference(moment.decoded, before)
          clock.add(
            other, at: decoded + wait, decoded: decoded, isFar: place == 1 && number == 0)
          before = decoded
        }
      }
    }
  }

  private mutating func noteSteps(_ moments: [Moment]) {
    for (key, own) in Dictionary(grouping: moments, by: \.key) {
      clock.note(key, steps: Self.steps(own.map(\.decoded)))
    }
  }

  private func commonKey(_ windows: [[Moment]]) -> Int? {
    let counts = windows.reduce(into: [Int: Int]()) { counts, window in
      for key in Set(window.map(\.key)) { counts[key, default: 0] += 1 }
    }
    return counts.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key
  }

  private mutating func learnRate(_ windows: [Window], _ key: Int) {
    let own = windows.map { window in (window.bytes, window.moments.filter { $0.key == key }) }
    var rates = own.compactMap { Self.rate($1.first, $1.last, $0) }
    // Pictures may be as large as a window.
    if rates.isEmpty {
      let filled = own.filter { !$0.1.isEmpty }
      rates = zip(filled, filled.dropFirst()).compactMap {
        Self.rate($0.1.first, $1.1.first, $0.0.lowerBound..<$1.0.lowerBound)
      }
    }
    self.rate = rates.sorted().dropFirst(rates.count / 2).first ?? 0
  }

  /// Returns the number of bytes per second between two moments.
  private static func rate(_ first: Moment?, _ last: Moment?, _ bytes: Range<Int64>) -> Double? {
    guard let first, let last else { return nil }
    let seconds = Double(difference(last.decoded, first.decoded)) / 90_000
    return seconds > 0 ? Double(bytes.count) / seconds : nil
  }

  private func isJump(_ last: Moment?, _ next: Moment?, _ bytes: Int64) -> Bool {
    guard let last, let next else { return false }
    let seconds = Double(Self.difference(next.decoded, last.decoded)) / 90_000
    guard seconds >= -0.3, rate > 0 else { return true }
    let expected = Double(bytes) / rate
    return seconds > 10 + 8 * expected || seconds < expected / 8 - 10
  }

  private mutating func takeFar(_ window: Window, _ key: Int) {
    for (place, moment) in window.moments.filter({ $0.key == key }).enumerated() {
      let decoded = unwrapped(moment.decoded, moment.key)
      let isPause = isPause(before: moment)
      if let wait = isPause ? moment.longWait : moment.wait {
        let isFar =
          place == 0
          && (window.isUnclear || !isJump(last, moment, window.bytes.lowerBound - lastStart))
        clock.add(moment.key, at: decoded + wait, decoded: decoded, isFar: isFar, isPause: isPause)
        if isPause { clock.notePause(moment.key) }
      } else {
        clock.isUnclear = true
      }
      note(moment, decoded)
      (last, lastStart) = (moment, window.bytes.lowerBound)
    }
  }

  /// The position of the window of ``last``.
  private var lastStart: Int64 = 0

  // MARK: Pauses

  /// The number of bytes that are read between two pictures, and before the first of them.
  private static var mostBetween: Int64 { 4 << 20 }
  private static var mostBefore: Int64 { 64 << 10 }
  /// The number of long steps that are examined.
  private static var mostLooks: Int { 256 }
  private var looks = 0

  private static func arePicturesAlone(_ moments: [Moment]) -> Bool {
    moments.allSatisfy { $0.isPicture && $0.key == moments[0].key }
  }

  /// Returns whether a long step ahead from the last moment to this one is a pause: the same multiplexer continues to
  /// count its packets (transport stream), or the picture depends on another (program stream).
  private mutating func isPause(before next: Moment) -> Bool {
    guard mayPause, let last, looks < Self.mostLooks,
      [next.decoded, next.time].contains(where: {
        Self.difference($0, last.decoded) > 90_000 * Self.longestStep
      })
    else { return false }
    looks += 1
    switch multiplex {
    case .transport(let stride, _):
      guard next.place > last.place, next.place - last.place <= Self.mostBetween else { return false }
      let start = max(0, last.place - Self.mostBefore)
      let bytes = file.bytes(at: start, count: Int(next.place - start) + stride)
      return bytes.withUnsafeBufferPointer { TransportPackets.areCountedOn($0, stride: stride) }
    case .program:
      let bytes = file.bytes(at: next.place + 6, count: Int(Self.mostBefore))
      return Self.beginsWithDependent(bytes)
    }
  }

  /// Whether the first picture of MPEG-1 or MPEG-2 in these bytes depends on another (ISO/IEC 13818-2, 6.3.9).
  private static func beginsWithDependent(_ bytes: [UInt8]) -> Bool {
    for at in bytes.indices.dropLast(5) where bytes[at] == 0 && bytes[at + 1] == 0 && bytes[at + 2] == 1 {
      switch bytes[at + 3] {
      case 0: return [2, 3].contains(bytes[at + 5] >> 3 & 7)
      case 0xb3, 0xb8: return false
      default: continue
      }
    }
    return false
  }

  // MARK: Parts

  /// Returns the streams of each of the files that were joined, if each has streams of its own: all of one file begin
  /// after the end of those before, on another clock. Each file must have pictures, because pictures and sound that
  /// were not interleaved are no two files.
  private func parts(of moments: [Moment]) -> [Set<Int>] {
    var ends: [Int: Int] = [:]
    for (place, moment) in moments.enumerated() { ends[moment.key] = place }
    var (parts, own, begin, end): ([Set<Int>], Set<Int>, Int, Int) = ([], [], 0, 0)
    for (place, moment) in moments.enumerated() where !own.contains(moment.key) {
      if place > end, Self.isPart(moments[begin...end]), Self.isPart(moments[place...]),
        !continues(moments[begin...end], moments[place...])
      {
        parts.append(own)
        (own, begin) = ([], place)
      }
      own.insert(moment.key)
      end = max(end, ends[moment.key] ?? place)
    }
    return parts + [own]
  }

  private static func isPart(_ moments: ArraySlice<Moment>) -> Bool { moments.contains(where: \.isPicture) }

  /// Whether the first picture of `next` is shown soon after the last of `before`, apart from what was left out between
  /// them.
  private func continues(_ before: ArraySlice<Moment>, _ next: ArraySlice<Moment>) -> Bool {
    guard let last = before.last(where: \.isPicture), let first = next.first(where: \.isPicture) else {
      return true
    }
    let leftOut = rate > 0 ? Double(max(0, first.place - last.place)) / rate : 0
    let seconds = Double(Self.difference(first.decoded, last.decoded)) / 90_000
    return seconds >= -0.3 && seconds <= Double(Self.longestStep) + 8 * leftOut
  }

  // MARK: Slow pictures

  /// The largest number of pictures that a decoder holds (ITU-T H.264, A.3.1).
  private static var mostHeld: Int64 { 16 }

  /// Marks moments that wait long because pictures come slowly, or because a picture before them in display order comes
  /// late: once the pictures that were decoded before the moment are shown, the next is decoded at its time, and no
  /// other is shown then.
  private static func noteSlow(_ moments: inout [Moment]) {
    // In a file of pictures alone, ``isPause(before:)`` decides.
    let mayBeLate = !arePicturesAlone(moments)
    let long = moments.indices.filter { moments[$0].isLong && moments[$0].isPicture }
    for (key, places) in Dictionary(grouping: long, by: { moments[$0].key }) {
      let own = moments.indices.filter { moments[$0].key == key }
      let steps = Self.steps(own.map { moments[$0].decoded }).filter { $0 > 0 }.sorted()
      guard !steps.isEmpty else { continue }
      let step = steps[steps.count / 2]
      for place in places.prefix(mostLooks) {
        let (wait, time) = (moments[place].longWait, moments[place].time)
        func isNear(_ other: Int64) -> Bool { abs(difference(other, time)) <= step / 2 }
        moments[place].isSlow =
          wait > 0
          && (wait <= mostHeld * step
            || mayBeLate && own.contains { $0 > place && isNear(moments[$0].decoded) }
              && !own.contains { $0 != place && isNear(moments[$0].time) })
      }
    }
  }

  // MARK: Pictures without times

  /// The bytes that are searched for pictures before and behind the last time.
  private static var mostCounted: Int64 { 64 << 10 }

  /// Counts the pictures behind the last one with a time in a program stream, which gives a time only to the first of
  /// several in a packet. Each lasts as long as those shortly before it. In a transport stream, each has a packet.
  private mutating func countPictures(behind moments: [Moment]) {
    guard case .program = multiplex else { return }
    for (key, own) in Dictionary(grouping: moments.filter(\.isPicture), by: \.key) {
      guard let last = own.last, let end = before[key], file.size - last.place <= Self.mostCounted,
        let stretch = clock.extents[key]?.stretches.first, let (begun, first) = firsts[key],
        let coding = pictures(at: first, 4096, key).coding
      else { continue }
      var place = own.count - 1
      while place > 0, last.place - own[place - 1].place <= Self.mostCounted,
        (0...90_000 * Self.longestStep).contains(
          Self.difference(own[place].decoded, own[place - 1].decoded))
      {
        place -= 1
      }
      let ticks = Self.difference(last.decoded, own[place].decoded)
      let (between, behind) = pictures(at: own[place].place, 2 * Self.mostCounted, key)
        .counts(from: Int(last.place - own[place].place), coding)
      guard behind > 1, between > 0, ticks > 0 else { continue }
      let lasting = Double(ticks) / Double(between) * Double(behind)
      guard lasting <= Double(90_000 * Self.longestStep) else { continue }
      // Pictures end as long after the last is decoded as they begin after the first is.
      clock.note(key, countedEnd: stretch.first + (end - begun) + Int64(lasting))
    }
  }

  private func pictures(at place: Int64, _ count: Int64, _ key: Int) -> ProgramPictures {
    ProgramPictures(file.bytes(at: place, count: Int(count)), of: UInt8(truncatingIfNeeded: key))
  }

  // MARK: Packets

  private mutating func moments(in range: Range<Int64>) -> [Moment] {
    let bytes = file.bytes(at: range.lowerBound, count: Int(range.upperBound - range.lowerBound))
    var moments = bytes.withUnsafeBufferPointer { buffer in
      switch multiplex {
      case .transport(let stride, let scrambled):
        Self.transport(buffer, from: range.lowerBound, stride, scrambled, &clock)
      case .program: Self.program(buffer, from: range.lowerBound)
      }
    }
    Self.noteSlow(&moments)
    return moments
  }

  /// - Parameter clock: receives the program maps. Each is repeated many times, and read again where it changes.
  private static func transport(
    _ bytes: UnsafeBufferPointer<UInt8>, from start: Int64, _ stride: Int, _ scrambled: Bool,
    _ clock: inout ContentClock
  ) -> [Moment] {
    var moments: [Moment] = []
    var payloads: [Int: [UInt8]] = [:]
    for at in TransportPackets.Places(bytes, stride: stride) {
      let control = bytes[at + 3]
      let key = Int(bytes[at + 1] & 0x1f) << 8 | Int(bytes[at + 2])
      let adaptation = control & 0x20 != 0 ? Int(bytes[at + 4]) + 1 : 0
      if scrambled {
        if adaptation >= 7, bytes[at + 5] & 0x10 != 0 {
          // The program clock: 33 bits at 90 kHz.
          let clock = (0..<4).reduce(Int64(0)) { $0 << 8 | Int64(bytes[at + 6 + $1]) }
          let time = clock << 1 | Int64(bytes[at + 10] >> 7)
          moments.append(Moment(key: key, time: time, decoded: time, isPicture: false, bytes: 0))
        }
        continue
      }
      guard bytes[at + 1] & 0x40 != 0, control & 0x10 != 0, control & 0xc0 == 0, adaptation <= 183 - 14 else {
        continue
      }
      // A packet that is not of an elementary stream begins with a pointer and the kind of its table.
      let payload = bytes[(at + 4 + adaptation)..<(at + TransportPackets.length)]
      if !payload.starts(with: [0, 0, 1]), payloads[key].map({ payload.elementsEqual($0) }) != true,
        let map = ProgramMap(payload)
      {
        payloads[key] = Array(payload)
        clock.note(map)
      }
      if var moment = moment(bytes, at + 4 + adaptation, key) {
        moment.place = start + Int64(at)
        moments.append(moment)
      }
    }
    return moments
  }

  private static func program(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int64) -> [Moment] {
    ProgramPackets(bytes).compactMap { packet in
      var moment = moment(bytes, packet.start, Int(packet.id))
      moment?.place = start + Int64(packet.start)
      return moment
    }
  }

  /// Reads the header of an elementary stream's packet, including that of MPEG-1 (ISO/IEC 11172-1, 2.4.3.3).
  private static func moment(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int, _ key: Int) -> Moment? {
    guard start + 19 <= bytes.count, bytes[start] == 0, bytes[start + 1] == 0, bytes[start + 2] == 1 else {
      return nil
    }
    let id = bytes[start + 3]
    // Private stream 1 holds the sound of DVDs.
    guard (0xc0...0xef).contains(id) || id == 0xbd || id == 0xfd else { return nil }
    let isPicture = (0xe0...0xef).contains(id)
    let length = Int64(bytes[start + 4]) << 8 | Int64(bytes[start + 5])
    var at = start + 6
    if bytes[at] >> 6 == 2 {
      let flags = bytes[at + 1] >> 6
      guard flags >= 2, bytes[at + 2] >= 5, let time = time(bytes, at + 3) else { return nil }
      let decoded = flags == 3 && bytes[at + 2] >= 10 ? Self.time(bytes, at + 8) : nil
      return Moment(key: key, time: time, decoded: decoded ?? time, isPicture: isPicture, bytes: length)
    }
    for _ in 0..<16 where at + 12 <= bytes.count && bytes[at] == 0xff { at += 1 }
    if bytes[at] >> 6 == 1 { at += 2 }
    guard at + 10 <= bytes.count, bytes[at] >> 4 == 2 || bytes[at] >> 4 == 3, let time = time(bytes, at)
    else {
      return nil
    }
    let decoded = bytes[at] >> 4 == 3 ? Self.time(bytes, at + 5) : nil
    return Moment(key: key, time: time, decoded: decoded ?? time, isPicture: isPicture, bytes: length)
  }

  /// Reads a time of 33 bits, with marker bits after the 3rd, the 18th and the last.
  private static func time(_ bytes: UnsafeBufferPointer<UInt8>, _ at: Int) -> Int64? {
    guard at + 5 <= bytes.count, bytes[at] & 1 == 1, bytes[at + 2] & 1 == 1, bytes[at + 4] & 1 == 1 else {
      return nil
    }
    return Int64(bytes[at] >> 1 & 7) << 30 | Int64(bytes[at + 1]) << 22 | Int64(bytes[at + 2] >> 1) << 15
      | Int64(bytes[at + 3]) << 7 | Int64(bytes[at + 4] >> 1)
  }
}
