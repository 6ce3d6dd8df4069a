import ReelCore
import ReelProbe

// The positions of a track's samples, without a list of all of them: uncompressed sound has one for each 48,000th of a
// second.
extension MovieBox {
  /// For a track: returns the bytes of the source that its samples take, in order. Adjacent ones are joined.
  /// - Throws: `corrupt`.
  func sampleRanges() throws(MendError) -> [Range<Int64>] {
    guard let table = self[["mdia", "minf", "stbl"]] else { return [] }
    var sizes = try SampleSizes(table, isSound: handler == "soun")
    guard sizes.left > 0 else { return [] }
    var ranges: [Range<Int64>] = []
    try table.eachChunk { start, count, _ throws(MendError) in
      guard let size = sizes.take(count) else { throw .damagedIndex }
      ranges.append(joining: start..<start + size)
      return sizes.left > 0
    }
    guard sizes.left == 0 else { throw .damagedIndex }
    return ranges
  }

  /// For a track: returns the bytes of the samples with these numbers, which count from 0 and are in order.
  /// - Throws: `corrupt`.
  func ranges(ofSamples numbers: [Int]) throws(MendError) -> [Range<Int64>] {
    guard let table = self[["mdia", "minf", "stbl"]] else { return [] }
    let sizes = try SampleSizes(table, isSound: false)
    var (ranges, first, left): ([Range<Int64>], Int, ArraySlice<Int>) = ([], 0, numbers[...])
    try table.eachChunk { start, count, _ throws(MendError) in
      while let number = left.first, number < first + count {
        let offset = (first..<number).reduce(start) { $0 + Int64(sizes.size(of: $1)) }
        ranges.append(offset..<offset + Int64(sizes.size(of: number)))
        left.removeFirst()
      }
      first += count
      return !left.isEmpty
    }
    return ranges
  }

  /// For a sample table: calls `body` with the position of each chunk, the number of samples in it, and the number of
  /// their sample entry (ISO/IEC 14496-12, 8.7.4 and 8.7.5), until it returns false.
  /// - Throws: `corrupt`, and what `body` throws.
  func eachChunk(
    _ body: (_ start: Int64, _ samples: Int, _ description: UInt32) throws(MendError) -> Bool
  ) throws(MendError) {
    let (narrow, wide) = (self["stco"]?.bytes, self["co64"]?.bytes)
    guard let runs = self["stsc"]?.bytes, let places = narrow ?? wide else { throw .damagedIndex }
    let width = narrow == nil ? 8 : 4
    let entries = runs.entryCount(from: 8, width: 12)
    guard entries > 0 else { throw .damagedIndex }
    var entry = 0
    for chunk in 0..<places.entryCount(from: 8, width: width) {
      while entry + 1 < entries, Int(runs.bigEndian32(at: 8 + 12 * (entry + 1))) <= chunk + 1 { entry += 1 }
      let place =
        width == 4
        ? UInt64(places.bigEndian32(at: 8 + 4 * chunk)) : places.bigEndian64(at: 8 + 8 * chunk)
      guard place < UInt64(1) << 60 else { throw .damagedIndex }
      let goesOn = try body(
        Int64(place), Int(runs.bigEndian32(at: 12 + 12 * entry)), runs.bigEndian32(at: 16 + 12 * entry))
      if !goesOn { return }
    }
  }

  /// For a sample table: the numbers, from 0 on, of the samples with which decoding may begin (8.6.2); nil if it may
  /// begin with any.
  var keySamples: Set<Int>? {
    guard let sync = self["stss"]?.bytes else { return nil }
    return Set((0..<sync.entryCount(from: 8, width: 4)).map { Int(sync.bigEndian32(at: 8 + 4 * $0)) - 1 })
  }

  /// For a sample table: the number of samples that it states.
  var sampleCount: Int { (self["stsz"] ?? self["stz2"]).map { Int($0.bytes.bigEndian32(at: 8)) } ?? 0 }
}

extension MendError {
  static let damagedIndex = MendError(.corrupt, "its index contradicts itself; get a complete copy")
}

extension [UInt8] {
  /// Returns the number of entries that a table states before the first of them, or as many as it has room for.
  func entryCount(from start: Int, width: Int) -> Int {
    Swift.min(Int(bigEndian32(at: start - 4)), Swift.max(0, count - start) / width)
  }
}

extension [Range<Int64>] {
  /// Adds a range, joined with the last one if it directly follows it. An empty range is not added.
  mutating func append(joining range: Range<Int64>) {
    if range.isEmpty { return }
    if let last, last.upperBound == range.lowerBound {
      self[count - 1] = last.lowerBound..<range.upperBound
    } else {
      append(range)
    }
  }
}

extension MovieBox {
  /// For an index: whether a track has samples that are in no fragment.
  var hasSamples: Bool {
    boxes.contains { track in
      guard track.type == "trak", let table = track[["mdia", "minf", "stbl"]] else { return false }
      return table.sampleCount > 0
    }
  }
}

/// The sizes of samples, which are taken in order (ISO/IEC 14496-12, 8.7.3).
struct SampleSizes {
  /// The number of samples that have not been taken yet.
  private(set) var left: Int
  private var next = 0
  private let table: [UInt8]
  /// The number of bits of a table entry; 0 if all samples have the same size.
  private let bits: Int
  /// The number of bytes that a number of samples take, if all have the same size.
  private let same: (bytes: Int64, samples: Int64)

  /// - Throws: `corrupt`.
  init(_ box: MovieBox, isSound: Bool) throws(MendError) {
    if let table = box["stsz"]?.bytes {
      let size = Int64(table.bigEndian32(at: 4))
      (self.table, left, bits) = (table, Int(table.bigEndian32(at: 8)), size == 0 ? 32 : 0)
      same = isSound && size == 1 ? box.bytesOfSound ?? (1, 1) : (size, 1)
    } else if let table = box["stz2"]?.bytes, table.count >= 12 {
      (self.table, left, bits) = (table, Int(table.bigEndian32(at: 8)), Int(table[7]))
      same = (0, 1)
      guard [4, 8, 16].contains(bits) else { throw .damagedIndex }
    } else {
      (table, left, bits, same) = ([], 0, 0, (0, 1))
    }
    guard bits == 0 || table.count >= 12 + (bits * left + 7) / 8 else { throw .damagedIndex }
  }

  /// Takes the next samples, up to `count` of them. Returns their size in bytes; nil if it is more than any file has.
  mutating func take(_ count: Int) -> Int64? {
    let count = min(count, left)
    left -= count
    defer { next += count }
    guard bits > 0 else {
      let (product, overflow) = Int64(count).multipliedReportingOverflow(by: same.bytes)
      return overflow || product >= Int64(1) << 60 ? nil : product / same.samples
    }
    return (next..<next + count).reduce(0) { $0 + Int64(size(of: $1)) }
  }

  /// Returns the size of a sample in bytes, if each has a size of its own or all have the same.
  func size(of sample: Int) -> UInt32 {
    switch bits {
    case 0: return UInt32(clamping: same.bytes)
    case 4:
      let pair = table[12 + sample / 2]
      return UInt32(sample % 2 == 0 ? pair >> 4 : pair & 15)
    case 8: return UInt32(table[12 + sample])
    case 16: return UInt32(table.bigEndian16(at: 12 + 2 * sample))
    default: return table.bigEndian32(at: 12 + 4 * sample)
    }
  }
}

extension MovieBox {
  /// For a sample table: how many bytes a number of sound samples take where QuickTime counts each as 1 byte (QuickTime
  /// File Format, "Sound Sample Description"); nil if the sample entry does not say.
  fileprivate var bytesOfSound: (bytes: Int64, samples: Int64)? {
    let descriptions = self["stsd"]?.bytes ?? []
    guard let entry = Self.children(of: descriptions.dropFirst(8)).0.first, entry.bytes.count >= 28 else {
      return nil
    }
    let bytes = entry.bytes
    if bytes.bigEndian16(at: 8) == 1, bytes.count >= 44 {
      let (samples, size) = (Int64(bytes.bigEndian32(at: 28)), Int64(bytes.bigEndian32(at: 36)))
      if samples > 0, size > 0 { return (size, samples) }
    }
    let bits: [FourCharacterCode: Int64] = ["in24": 24, "in32": 32, "fl32": 32, "fl64": 64]
    let width = (bits[entry.type] ?? Int64(bytes.bigEndian16(at: 18))) / 8
    let channels = Int64(bytes.bigEndian16(at: 16))
    return width > 0 && channels > 0 ? (width * channels, 1) : nil
  }
}
