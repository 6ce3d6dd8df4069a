import ReelCore
import ReelProbe

/// One sample of a track. A day has millions of them, so each takes only 24 bytes.
struct Sample: Hashable {
  /// Its position in the source.
  var offset: Int64
  var size: UInt32
  /// Its duration in ticks of the track.
  var duration: UInt32
  /// The time from its decoding to its presentation, in ticks.
  var shift: Int32
  /// The number of its sample entry, from 1 on.
  var description: UInt16
  /// Whether decoding may begin with it.
  var isSync: Bool

  var end: Int64 { offset + Int64(size) }
}

/// The samples of a track, one by one (ISO/IEC 14496-12, 8.6 and 8.7).
struct SampleTable: Hashable {
  var samples: [Sample] = []

  /// The largest number of samples of a track: 25 hours at 60 pictures per second. Tables are held in memory, and
  /// FFmpeg reads no more.
  static let mostSamples = 5_500_000

  init() {}

  /// Reads a sample table box (`stbl`).
  /// - Throws: `corrupt`, `notMendable`.
  init(_ table: MovieBox) throws(MendError) {
    guard table.sampleCount <= Self.mostSamples else { throw Self.tooMany }
    let sizes = try SampleSizes(table, isSound: false)
    samples = (0..<sizes.left).map {
      Sample(offset: 0, size: sizes.size(of: $0), duration: 0, shift: 0, description: 1, isSync: true)
    }
    try takeOffsets(of: table)
    takeDurations(of: table)
    takeShifts(of: table)
    guard let sync = table["stss"]?.bytes else { return }
    for place in samples.indices { samples[place].isSync = false }
    for entry in 0..<sync.entryCount(from: 8, width: 4) {
      let number = Int(sync.bigEndian32(at: 8 + 4 * entry))
      if samples.indices.contains(number - 1) { samples[number - 1].isSync = true }
    }
  }

  static let tooMany = MendError(
    .notMendable,
    "one of its tracks has more than \(mostSamples) samples, too many to rebuild its index in memory; split it first"
  )

  private mutating func takeOffsets(of table: MovieBox) throws(MendError) {
    guard !samples.isEmpty else { return }
    var next = 0
    try table.eachChunk { start, count, description throws(MendError) in
      guard let description = UInt16(exactly: description) else { throw .damagedIndex }
      var offset = start
      for _ in 0..<min(count, samples.count - next) {
        samples[next].offset = offset
        samples[next].description = description
        offset += Int64(samples[next].size)
        next += 1
      }
      return next < samples.count
    }
    guard next == samples.count else { throw .damagedIndex }
  }

  private mutating func takeDurations(of table: MovieBox) {
    guard let box = table["stts"]?.bytes else { return }
    var next = 0
    for entry in 0..<box.entryCount(from: 8, width: 8) {
      let duration = box.bigEndian32(at: 12 + 8 * entry)
      for _ in 0..<min(Int(box.bigEndian32(at: 8 + 8 * entry)), samples.count - next) {
        samples[next].duration = duration
        next += 1
      }
    }
  }

  private mutating func takeShifts(of table: MovieBox) {
    guard let box = table["ctts"]?.bytes else { return }
    var next = 0
    for entry in 0..<box.entryCount(from: 8, width: 8) {
      let shift = Int32(bitPattern: box.bigEndian32(at: 12 + 8 * entry))
      for _ in 0..<min(Int(box.bigEndian32(at: 8 + 8 * entry)), samples.count - next) {
        samples[next].shift = shift
        next += 1
      }
    }
  }

  /// The total duration in ticks.
  var duration: UInt64 { samples.reduce(0) { $0 + UInt64($1.duration) } }

  /// The bytes of the source that its samples take, in order. Adjacent ones are joined.
  var ranges: [Range<Int64>] {
    var ranges: [Range<Int64>] = []
    for sample in samples { ranges.append(joining: sample.offset..<sample.end) }
    return ranges
  }
}

// Writing.
extension SampleTable {
  /// Tables that are kept, because they say nothing about single samples.
  private static let kept: Set<FourCharacterCode> = ["stsd", "sgpd", "cslg"]

  /// Returns a sample table box of these samples, with whatever else in `old` still applies.
  func box(insteadOf old: MovieBox) -> MovieBox {
    var boxes = old.boxes.filter { Self.kept.contains($0.type) }
    boxes.append(durations)
    if let shifts = shifts(signed: old["ctts"]?.bytes.first == 1) { boxes.append(shifts) }
    if let sync { boxes.append(sync) }
    if let flags = old["sdtp"]?.bytes {
      boxes.append(MovieBox("sdtp", Array(flags.prefix(4 + samples.count))))
    }
    for group in old.boxes where group.type == "sbgp" {
      if let group = cut(group) { boxes.append(group) }
    }
    boxes += chunks
    boxes.append(sizes)
    return MovieBox("stbl", .boxes(head: [], boxes, tail: []))
  }

  /// Returns a full box: the version, flags of 0, the number of entries, and the entries, one for each run of equal
  /// values.
  private static func table<Value: Equatable>(
    _ type: FourCharacterCode, version: UInt8 = 0, runsOf values: some Sequence<Value>,
    _ append: (Value, inout [UInt8]) -> Void
  ) -> MovieBox {
    var bytes: [UInt8] = [version, 0, 0, 0, 0, 0, 0, 0]
    var (run, count, entries): (Value?, UInt32, UInt32) = (nil, 0, 0)
    func end() {
      guard let value = run else { return }
      bytes.appendBigEndian(count)
      append(value, &bytes)
      entries += 1
    }
    for value in values {
      if value != run {
        end()
        (run, count) = (value, 0)
      }
      count += 1
    }
    end()
    bytes.setBigEndian(entries, at: 4)
    return MovieBox(type, bytes)
  }

  private var durations: MovieBox {
    Self.table("stts", runsOf: samples.lazy.map(\.duration)) { $1.appendBigEndian($0) }
  }

  private func shifts(signed: Bool) -> MovieBox? {
    guard samples.contains(where: { $0.shift != 0 }) else { return nil }
    let isSigned = signed || samples.contains { $0.shift < 0 }
    return Self.table("ctts", version: isSigned ? 1 : 0, runsOf: samples.lazy.map(\.shift)) {
      $1.appendBigEndian($0)
    }
  }

  private var sync: MovieBox? {
    let numbers = samples.indices.filter { samples[$0].isSync }
    guard numbers.count < samples.count else { return nil }
    var bytes: [UInt8] = [0, 0, 0, 0]
    bytes.appendBigEndian(UInt32(numbers.count))
    for number in numbers { bytes.appendBigEndian(UInt32(number + 1)) }
    return MovieBox("stss", bytes)
  }

  private var sizes: MovieBox {
    var bytes: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0]
    bytes.appendBigEndian(UInt32(samples.count))
    for sample in samples { bytes.appendBigEndian(sample.size) }
    return MovieBox("stsz", bytes)
  }

  /// The tables of chunks. Samples that follow one another in the file and have the same sample entry form one chunk.
  private var chunks: [MovieBox] {
    var found: [(offset: Int64, count: UInt32, description: UInt16)] = []
    var end: Int64 = -1
    for sample in samples {
      if let last = found.last, sample.offset == end, last.description == sample.description,
        last.count < 4096
      {
        found[found.count - 1].count += 1
      } else {
        found.append((sample.offset, 1, sample.description))
      }
      end = sample.end
    }
    var (runs, entries): ([UInt8], UInt32) = ([], 0)
    for (index, chunk) in found.enumerated() {
      if index > 0, found[index - 1].count == chunk.count, found[index - 1].description == chunk.description {
        continue
      }
      entries += 1
      runs.appendBigEndian(UInt32(index + 1))
      runs.appendBigEndian(chunk.count)
      runs.appendBigEndian(UInt32(chunk.description))
    }
    var places: [UInt8] = [0, 0, 0, 0]
    places.appendBigEndian(UInt32(found.count))
    let isWide = found.contains { $0.offset > Int64(UInt32.max) }
    for chunk in found {
      if isWide {
        places.appendBigEndian(UInt64(chunk.offset))
      } else {
        places.appendBigEndian(UInt32(chunk.offset))
      }
    }
    var runBytes: [UInt8] = [0, 0, 0, 0]
    runBytes.appendBigEndian(entries)
    return [MovieBox("stsc", runBytes + runs), MovieBox(isWide ? "co64" : "stco", places)]
  }

  /// Returns the table that assigns samples to groups (8.9.2), cut to the number of samples.
  private func cut(_ group: MovieBox) -> MovieBox? {
    let bytes = group.bytes
    let start = bytes.first == 1 ? 16 : 12
    guard bytes.count >= start else { return nil }
    var (entries, count, left): ([UInt8], UInt32, Int) = ([], 0, samples.count)
    for entry in 0..<bytes.entryCount(from: start, width: 8) where left > 0 {
      let length = min(Int(bytes.bigEndian32(at: start + 8 * entry)), left)
      entries.appendBigEndian(UInt32(length))
      entries.appendBigEndian(bytes.bigEndian32(at: start + 8 * entry + 4))
      (count, left) = (count + 1, left - length)
    }
    var head = Array(bytes.prefix(start))
    head.setBigEndian(count, at: start - 4)
    return MovieBox("sbgp", head + entries)
  }
}
