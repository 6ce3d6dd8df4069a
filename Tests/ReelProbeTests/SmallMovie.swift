/// A small ISO base media file, assembled box by box: one video track whose samples have `sampleSize` bytes each.
struct SmallMovie {
  /// The major brand; nil for no `ftyp`.
  var brand: String? = "isom"
  var width = 64
  var height = 48
  /// The display matrix in 16.16 and 2.30 fixed point.
  var matrix: [Int32] = SmallMovie.identity
  /// The duration in `mvhd`, in milliseconds.
  var movieDuration: UInt32 = 2000
  /// The number of samples in `stts`, 40 ms each.
  var samples = 50
  /// Other durations of the samples in milliseconds, repeated cyclically.
  var steps: [UInt32]?
  var sampleSize = 16
  /// The number of samples that the tables claim instead of `samples`.
  var claimedSamples: UInt32?
  var pixelShape: (UInt32, UInt32)?
  /// The entries of the edit list: the duration in milliseconds and the media time (-1 is empty).
  var edits: [(UInt32, Int32)] = []
  /// Whether `moov` announces fragments.
  var declaresFragments = false
  /// Whether the index precedes the media data.
  var fastStart = true
  /// Additional boxes in `moov`, such as `udta`.
  var extra: [UInt8] = []
  /// The number of tracks, which are all alike.
  var tracks = 1
  /// The widths of several sample entries, and the entry, counted from 1, of each of as many chunks; nil for a single
  /// entry.
  var entries: (widths: [Int], chunks: [Int])?
  /// The sample entry's format.
  var format = "jpeg"
  /// The type of the media's handler; nil for no handler.
  var handler: String? = "vide"
  /// The entries of the track's data references, by default this file; nil for no `dref`.
  var references: [[UInt8]]? = [Self.reference("url ", flags: 1)]
  /// The data reference that the sample entry names, counted from 1.
  var reference = 1
  /// Whether the data references follow the sample table instead of preceding it.
  var referencesLast = false
  /// Additional boxes in the sample entry.
  var entryExtra: [UInt8] = []
  /// Additional boxes in the last of several sample entries, instead.
  var lastEntryExtra: [UInt8]?

  static let identity: [Int32] = [1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30]

  var bytes: [UInt8] {
    let head = brand.map { Self.box("ftyp", Array($0.utf8) + Self.u32(512) + Array($0.utf8)) } ?? []
    let data = Self.box("mdat", [UInt8](repeating: 0xAB, count: samples * sampleSize))
    guard fastStart else { return head + data + movie(dataAt: head.count + 8) }
    let length = movie(dataAt: 0).count
    return head + movie(dataAt: head.count + length + 8) + data
  }

  static func box(_ type: String, _ contents: [UInt8]) -> [UInt8] {
    u32(UInt32(contents.count + 8)) + Array(type.utf8) + contents
  }

  static func u32(_ number: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
  }
  static func u16(_ number: Int) -> [UInt8] {
    [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
  }

  private func movie(dataAt offset: Int) -> [UInt8] {
    let header = Self.u32(0) + Self.u32(0) + Self.u32(0) + Self.u32(1000) + Self.u32(movieDuration)
    let rest = Self.u32(1 << 16) + [1, 0] + [UInt8](repeating: 0, count: 10)
    let last = Self.matrixBytes(Self.identity) + [UInt8](repeating: 0, count: 24) + Self.u32(2)
    let fragments = Self.box(
      "mvex", Self.box("trex", Self.u32(0) + Self.u32(1) + Self.u32(1) + Self.zeros(12)))
    let all = (0..<tracks).flatMap { track(UInt32($0 + 1), dataAt: offset) }
    return Self.box(
      "moov", Self.box("mvhd", header + rest + last) + all + (declaresFragments ? fragments : []) + extra)
  }

  /// An entry of a `dref` box.
  static func reference(_ type: String, flags: UInt32, _ contents: [UInt8] = []) -> [UInt8] {
    box(type, u32(flags) + contents)
  }

  /// A `trak` box to be inserted into another movie.
  func track(_ id: UInt32, dataAt offset: Int) -> [UInt8] {
    let times = Self.u32(3) + Self.u32(0) + Self.u32(0) + Self.u32(id) + Self.u32(0) + Self.u32(movieDuration)
    let header = Self.box(
      "tkhd",
      times + Self.zeros(16) + Self.matrixBytes(matrix) + Self.u32(UInt32(width) << 16)
        + Self.u32(UInt32(height) << 16))
    let list = edits.flatMap { Self.u32($0.0) + Self.u32(UInt32(bitPattern: $0.1)) + Self.u32(1 << 16) }
    let edit = Self.box("edts", Self.box("elst", Self.u32(0) + Self.u32(UInt32(edits.count)) + list))
    return Self.box("trak", header + (edits.isEmpty ? [] : edit) + media(dataAt: offset))
  }

  private func media(dataAt offset: Int) -> [UInt8] {
    let header = Self.box(
      "mdhd",
      Self.u32(0) + Self.zeros(8) + Self.u32(1000) + Self.u32(lengths.reduce(0, +)) + [0x55, 0xC4, 0, 0])
    let handler = handler.map {
      Self.box("hdlr", Self.u32(0) + Self.u32(0) + Array($0.utf8) + Self.zeros(13))
    }
    let places = references.map {
      Self.box(
        "dinf", Self.box("dref", Self.u32(0) + Self.u32(UInt32($0.count)) + Array($0.joined())))
    }
    let table = table(dataAt: offset)
    let information = Self.box(
      "minf",
      Self.box("vmhd", Self.u32(1) + Self.zeros(8))
        + (referencesLast ? table + (places ?? []) : (places ?? []) + table))
    return Self.box("mdia", header + (handler ?? []) + information)
  }

  /// The duration of each sample.
  private var lengths: [UInt32] { (0..<samples).map { steps?[$0 % (steps?.count ?? 1)] ?? 40 } }

  private func table(dataAt offset: Int) -> [UInt8] {
    let shape = pixelShape.map { Self.box("pasp", Self.u32($0.0) + Self.u32($0.1)) } ?? []
    let widths = entries?.widths ?? [width]
    let described = widths.enumerated().flatMap { place, width in
      Self.box(
        format,
        Self.zeros(6) + Self.u16(reference) + Self.zeros(16) + Self.u16(width) + Self.u16(height)
          + Self.u32(72 << 16) + Self.u32(72 << 16) + Self.u32(0) + Self.u16(1) + Self.zeros(32)
          + Self.u16(24)
          + Self.u16(0xFFFF) + shape
          + (place > 0 && place + 1 == widths.count ? lastEntryExtra ?? entryExtra : entryExtra))
    }
    let count = claimedSamples ?? UInt32(samples)
    let times =
      steps == nil
      ? Self.u32(1) + Self.u32(count) + Self.u32(40)
      : Self.u32(count) + lengths.flatMap { Self.u32(1) + Self.u32($0) }
    let chunks = entries?.chunks ?? [1]
    let each = count / UInt32(chunks.count)
    let runs = chunks.enumerated().flatMap {
      Self.u32(UInt32($0 + 1)) + Self.u32(each) + Self.u32(UInt32($1))
    }
    let places = chunks.indices.flatMap {
      Self.u32(UInt32(offset) + UInt32($0) * each * UInt32(sampleSize))
    }
    return Self.box(
      "stbl",
      Self.box("stsd", Self.u32(0) + Self.u32(UInt32(widths.count)) + described)
        + Self.box("stts", Self.u32(0) + times)
        + Self.box("stsc", Self.u32(0) + Self.u32(UInt32(chunks.count)) + runs)
        + Self.box("stsz", Self.u32(0) + Self.u32(UInt32(sampleSize)) + Self.u32(count))
        + Self.box("stco", Self.u32(0) + Self.u32(UInt32(chunks.count)) + places))
  }

  private static func matrixBytes(_ matrix: [Int32]) -> [UInt8] {
    matrix.flatMap { u32(UInt32(bitPattern: $0)) }
  }

  private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
}
