/// What the boxes of one track tell (ISO/IEC 14496-12, 8.3 to 8.7).
struct ISOTrack: Hashable {
  private(set) var id: UInt32?
  /// What it holds (8.4.3); nil if it does not say.
  private(set) var handler: FourCharacterCode?
  private(set) var header: TrackHeader?
  /// The ticks per second of its samples; above 0.
  private(set) var timescale: UInt32?
  /// The duration in ticks that its media header claims; nil if it claims none.
  private(set) var claimedTicks: UInt64?
  /// When its media was created, by the media header, in the form that ``MovieDate`` takes.
  private(set) var created: UInt64?
  /// What is shown of it, and when; nil if all of it is shown from the start.
  private(set) var edits: [TrackEdit]?
  private(set) var times: SampleTimes?
  private(set) var counts = SampleCounts()
  /// The sample entry of its first samples.
  private(set) var entry: SampleEntry?
  /// The offset of the first sample's presentation time from its decoding time (8.6.1.3), in ticks.
  private(set) var firstOffset: Int64 = 0
  /// The offsets of the first samples, and those of the last ones, the very last one first; empty if they have none.
  private(set) var firstOffsets: [Int64] = []
  private(set) var lastOffsets: [Int64] = []
  /// What a player shows of it; nil if its samples are in fragments, or its tables leave it open.
  private(set) var presentation: TrackPresentation?

  /// The other entries, which later samples have, in their order.
  private(set) var laterEntries: [SampleEntry] = []
  /// Whether there are several entries, whichever its samples have: FFmpeg takes some facts from the last.
  private(set) var hasSeveralEntries = false
  /// Whether the entry of its first samples is not the first one, which FFmpeg uses.
  private(set) var hasLaterEntry = false

  /// The most samples at either end of a track that may be shown in another order than they are stored in.
  private static let reordered: Int64 = 32

  /// Whether the track is of pictures or sound.
  var isSeenOrHeard: Bool { handler == "vide" || handler == "soun" }

  /// Returns how much later than its media the track is shown, in the media's ticks, by its edit list up to the first
  /// samples; nil without an edit list.
  func shift(movieScale: UInt32?) -> Double? {
    guard let edits, let movieScale, let timescale, let start = edits.lazy.compactMap(\.start).first else {
      return nil
    }
    let wait = edits.prefix { $0.start == nil }.reduce(0) { $0 + Double($1.duration) }
    return wait * Double(timescale) / Double(movieScale) - Double(start)
  }

  mutating func take(_ box: ISOBox, of file: some ByteReading) {
    switch box.type {
    case "tkhd":
      header = TrackHeader(box, of: file)
      id = header?.id
    case "mdhd": takeMediaHeader(box, of: file)
    case "hdlr":
      // QuickTime has one for its data handler, too.
      let bytes = file.bytes(at: box.contents + 8, count: 4)
      if handler == nil, bytes.count == 4 { handler = FourCharacterCode(bytes) }
    case "elst": edits = TrackEdit.list(in: box, of: file)
    case "stts": times = SampleTimes(box, of: file)
    case "ctts": takeOffsets(box, of: file)
    case "stsz", "stz2", "stco", "co64", "stsc": counts.take(box, of: file)
    default: break
    }
  }

  /// - Parameter entries: its sample entries, in their order.
  mutating func take(entries: [ISOBox], of file: some ByteReading) {
    let used = (counts.firstEntry ?? 1) - 1
    guard let entry = entries.indices.contains(used) ? entries[used] : entries.first else { return }
    hasLaterEntry = entry != entries.first
    hasSeveralEntries = entries.count > 1
    self.entry = SampleEntry(entry, handler: handler, of: file)
    laterEntries = counts.laterEntries.map { $0 - 1 }.filter { $0 != used && entries.indices.contains($0) }
      .prefix(Self.mostEntries).map { SampleEntry(entries[$0], handler: handler, of: file) }
  }

  /// The most later entries to read.
  private static let mostEntries = 16

  /// Determines the presentation, once all of its boxes have been taken.
  mutating func present(movieScale: UInt32?) {
    presentation = TrackPresentation(self, movieScale: movieScale)
  }

  /// Reads the media header (8.4.2).
  private mutating func takeMediaHeader(_ box: ISOBox, of file: some ByteReading) {
    guard let version = file.bigEndian(at: box.contents, width: 1) else { return }
    let width = version == 1 ? 8 : 4
    let clock = box.contents + 4 + Int64(2 * width)
    created = file.knownTime(at: box.contents + 4, width: width)
    guard let scale = file.bigEndian(at: clock, width: 4), scale > 0 else { return }
    timescale = UInt32(scale)
    claimedTicks = file.knownTime(at: clock + 4, width: width)
  }

  private mutating func takeOffsets(_ box: ISOBox, of file: some ByteReading) {
    guard let count = file.bigEndian(at: box.contents + 4, width: 4), count > 0, box.end - box.contents >= 16,
      let offset = file.bigEndian(at: box.contents + 12, width: 4)
    else { return }
    firstOffset = Int64(Int32(truncatingIfNeeded: offset))
    let room = min(Int64(count), (box.end - box.contents - 8) / 8)
    let few = min(room, Self.reordered)
    func add(_ bytes: [UInt8], at place: Int, to offsets: inout [Int64]) {
      let run = bytes.number(at: place, bytes: 4) ?? 0
      let offset = bytes.number(at: place + 4, bytes: 4).map { Int64(Int32(truncatingIfNeeded: $0)) } ?? 0
      offsets += Array(repeating: offset, count: min(run, Int(Self.reordered) - offsets.count))
    }
    let head = file.bytes(at: box.contents + 8, count: Int(few) * 8)
    for place in stride(from: 0, through: head.count - 8, by: 8) { add(head, at: place, to: &firstOffsets) }
    let bytes = file.bytes(at: box.contents + 8 + 8 * (room - few), count: Int(few) * 8)
    for place in stride(from: bytes.count - 8, through: 0, by: -8) { add(bytes, at: place, to: &lastOffsets) }
  }
}

/// The track header box (8.3.2).
struct TrackHeader: Hashable {
  let id: UInt32
  /// Whether a player shows it.
  let isEnabled: Bool
  /// The duration in ticks of the movie; nil if it claims none.
  let duration: UInt64?
  /// The creation time; nil if it is not known.
  let created: UInt64?
  /// The nine numbers of the display matrix.
  let matrix: [Int32]
  /// The width in pixels before the matrix is applied, in 16.16 fixed point; likewise the height.
  let width: UInt32
  let height: UInt32

  init?(_ box: ISOBox, of file: some ByteReading) {
    let bytes = file.bytes(at: box.contents, count: Int(max(0, min(96, box.end - box.contents))))
    guard let version = bytes.first else { return nil }
    let width = version == 1 ? 8 : 4
    func number(_ place: Int, _ count: Int) -> UInt64 {
      bytes[place..<(place + count)].reduce(0) { $0 << 8 | UInt64($1) }
    }
    guard bytes.count >= 3 * width + 72 else { return nil }
    isEnabled = bytes[3] & 1 == 1
    created = number(4, width).known(width: width)
    id = UInt32(number(4 + 2 * width, 4))
    duration = number(12 + 2 * width, width).known(width: width)
    let matrix = 28 + 3 * width
    self.matrix = (0..<9).map { Int32(truncatingIfNeeded: number(matrix + 4 * $0, 4)) }
    self.width = UInt32(number(matrix + 36, 4))
    self.height = UInt32(number(matrix + 40, 4))
  }
}

/// One entry of an edit list (8.6.6).
struct TrackEdit: Hashable {
  /// The duration in ticks of the movie.
  let duration: UInt64
  /// The beginning in ticks of the media; nil if nothing is shown.
  let start: Int64?
  /// How fast it is shown, in 16.16 fixed point; 0 holds one picture.
  let rate: Int32

  /// The most entries to read; no player has a use for more.
  private static let most = 4096

  /// Returns the entries of an edit list; nil if it has none.
  static func list(in box: ISOBox, of file: some ByteReading) -> [TrackEdit]? {
    guard let head = file.bigEndian(at: box.contents, width: 8), head & 0xFFFF_FFFF > 0 else { return nil }
    let width = head >> 56 == 1 ? 8 : 4
    let size = 2 * width + 4
    let room = Int(clamping: (box.end - box.contents - 8) / Int64(size))
    let bytes = file.bytes(
      at: box.contents + 8, count: max(0, min(Int(head & 0xFFFF_FFFF), room, most)) * size)
    return stride(from: 0, to: bytes.count - size + 1, by: size).map { place in
      func number(_ at: Int, _ count: Int) -> UInt64 {
        bytes[(place + at)..<(place + at + count)].reduce(0) { $0 << 8 | UInt64($1) }
      }
      let time = number(width, width)
      let start = width == 8 ? Int64(bitPattern: time) : Int64(Int32(truncatingIfNeeded: time))
      return TrackEdit(
        duration: number(0, width), start: start < 0 ? nil : start,
        rate: Int32(truncatingIfNeeded: number(2 * width, 4)))
    }
  }
}

/// The number of samples according to each of a track's tables; nil if a table is missing or too long to be read.
struct SampleCounts: Hashable {
  /// According to the sizes (8.7.3).
  private(set) var sizes: Int64?
  /// The bytes of each sample, if all are of one size; nil if each has its own.
  private(set) var size: Int?
  /// Whether the table of sizes is as long as it says; if all samples are of one size, it is not there.
  private(set) var sizesAreThere = true
  /// According to the chunks (8.7.4, 8.7.5).
  var chunks: Int64? { chunkCount.flatMap { Self.samples(of: runs, in: $0) } }

  /// Where the last chunk ends in the file, if all samples are of one size.
  var end: Int64? {
    guard let size, let lastChunk, let chunkCount, let run = runs?.last(where: { $0.first <= chunkCount })
    else {
      return nil
    }
    let (bytes, overflow) = run.samples.multipliedReportingOverflow(by: Int64(size))
    return overflow ? nil : lastChunk.addingClamped(bytes)
  }

  /// Where the last chunk begins.
  private var lastChunk: Int64?
  private var chunkCount: Int64?
  private var runs: [Run]?

  /// Chunks with the same number of samples in each, from one chunk on.
  private struct Run: Hashable {
    let first: Int64
    let samples: Int64
    /// The number of their sample entry, from 1 on.
    let entry: Int
  }

  /// The number of the sample entry that the first samples have, from 1 on; nil if it is unknown.
  var firstEntry: Int? { runs?.first { $0.samples > 0 }?.entry }
  /// The numbers of the entries that other samples have, in their order.
  fileprivate var laterEntries: [Int] {
    var known: Set<Int> = []
    return (runs ?? []).filter { $0.samples > 0 && known.insert($0.entry).inserted }.dropFirst().map(\.entry)
  }

  /// The most runs of chunks to read.
  private static let mostRuns = 1 << 18

  fileprivate mutating func take(_ box: ISOBox, of file: some ByteReading) {
    guard let head = file.bigEndian(at: box.contents + 4, width: 4) else { return }
    let length = box.end - box.contents
    switch box.type {
    case "stsz":
      guard let count = file.bigEndian(at: box.contents + 8, width: 4) else { return }
      sizes = Int64(count)
      size = head == 0 ? nil : Int(head)
      sizesAreThere =
        head == 0 ? length >= 12 + 4 * Int64(count) : length < 12 + 4 * Int64(count) || count < 3
    case "stz2": sizes = file.bigEndian(at: box.contents + 8, width: 4).map { Int64($0) }
    case "stco", "co64":
      chunkCount = Int64(head)
      let width = box.type == "co64" ? 8 : 4
      guard head > 0, length >= 8 + Int64(head) * Int64(width) else { return }
      lastChunk = file.bigEndian(at: box.contents + 8 + Int64(head - 1) * Int64(width), width: width)
        .flatMap { Int64(exactly: $0) }
    default:
      let room = Int(clamping: (length - 8) / 12)
      guard head <= UInt64(Self.mostRuns) else { return }
      let bytes = file.bytes(at: box.contents + 8, count: max(0, min(Int(head), room)) * 12)
      runs = bytes.withUnsafeBytes { table in
        func number(_ place: Int) -> UInt32 {
          UInt32(bigEndian: table.loadUnaligned(fromByteOffset: place, as: UInt32.self))
        }
        return stride(from: 0, to: table.count - 11, by: 12).map {
          Run(first: Int64(number($0)), samples: Int64(number($0 + 4)), entry: Int(number($0 + 8)))
        }
      }
    }
  }

  private static func samples(of runs: [Run]?, in chunks: Int64) -> Int64? {
    guard let runs else { return nil }
    var total: Int64 = 0
    for (place, run) in runs.enumerated() {
      let next = place + 1 < runs.count ? runs[place + 1].first : chunks + 1
      let (product, overflow) = max(0, next - run.first).multipliedReportingOverflow(by: run.samples)
      let (sum, tooLarge) = total.addingReportingOverflow(product)
      guard !overflow, !tooLarge else { return nil }
      total = sum
    }
    return total
  }
}
