import ReelCore
import ReelProbe

/// What the fragments of a file add to the samples of its tracks (ISO/IEC 14496-12, 8.8).
struct Fragments {
  /// The samples of each track by its ID.
  private(set) var tables: [UInt32: SampleTable] = [:]
  /// The decoding time of each track's first sample, in its ticks.
  private(set) var starts: [UInt32: UInt64] = [:]
  /// The end of each track's last sample, in its ticks.
  private var ends: [UInt32: UInt64] = [:]
  private let defaults: [UInt32: Defaults]
  /// The sound tracks, in which decoding may begin with any sample.
  private let sounds: Set<UInt32>

  private struct Defaults {
    var description: UInt32 = 1
    var duration: UInt32 = 0
    var size: UInt32 = 0
    var flags: UInt32 = 0
  }
  private static let largestFragment: Int64 = 16 << 20
  private static let damaged = MendError(
    .corrupt, "one of its fragments contradicts itself; get a complete copy")

  /// Reads all complete fragments.
  init(of file: MovieFile, _ source: BoundedSource) throws(MendError) {
    var defaults: [UInt32: Defaults] = [:]
    for box in file.movie["mvex"]?.boxes ?? [] where box.type == "trex" && box.bytes.count >= 24 {
      defaults[box.bytes.bigEndian32(at: 4)] = Defaults(
        description: box.bytes.bigEndian32(at: 8), duration: box.bytes.bigEndian32(at: 12),
        size: box.bytes.bigEndian32(at: 16), flags: box.bytes.bigEndian32(at: 20))
    }
    self.defaults = defaults
    let tracks = file.movie.boxes.filter { $0.type == "trak" }
    sounds = Set(tracks.filter { $0.handler == "soun" }.compactMap(\.trackID))
    for track in tracks {
      guard let number = track.trackID else { throw Self.damaged }
      let table = try track[["mdia", "minf", "stbl"]].map { box throws(MendError) in try SampleTable(box) }
      tables[number] = table ?? SampleTable()
      ends[number] = tables[number]?.duration ?? 0
    }
    for box in file.boxes where box.type == "moof" && box.end <= source.size {
      guard box.end - box.start <= Self.largestFragment else { throw Self.damaged }
      let bytes = source.bytes(at: box.contents, count: Int(box.end - box.contents))
      var end = box.start
      for track in MovieBox.children(of: bytes[...]).0 where track.type == "traf" {
        end = try take(MovieBox.children(of: track.bytes[...]).0, fragment: box.start, previousEnd: end)
      }
    }
  }

  /// Adds a track's part of a fragment. Returns where its data ends.
  private mutating func take(
    _ boxes: [MovieBox], fragment: Int64, previousEnd: Int64
  ) throws(MendError) -> Int64 {
    guard let header = boxes.first(where: { $0.type == "tfhd" })?.bytes, header.count >= 8,
      tables[header.bigEndian32(at: 4)] != nil
    else { throw Self.damaged }
    let (flags, number) = (header.bigEndian32(at: 0) & 0xFFFFFF, header.bigEndian32(at: 4))
    var own = defaults[number] ?? Defaults()
    var place = 8
    func next() -> UInt32 {
      defer { place += 4 }
      return header.bigEndian32(at: place)
    }
    var base = flags & 0x20000 != 0 ? fragment : previousEnd
    if flags & 1 != 0 {
      let stated = UInt64(next()) << 32 | UInt64(next())
      guard stated < UInt64(1) << 60 else { throw Self.damaged }
      base = Int64(stated)
    }
    if flags & 2 != 0 { own.description = next() }
    if flags & 8 != 0 { own.duration = next() }
    if flags & 0x10 != 0 { own.size = next() }
    if flags & 0x20 != 0 { own.flags = next() }
    if let time = boxes.first(where: { $0.type == "tfdt" })?.bytes {
      let isWide = time.first == 1
      try begin(number, at: isWide ? time.bigEndian64(at: 4) : UInt64(time.bigEndian32(at: 4)))
    }
    var end = base
    for run in boxes where run.type == "trun" {
      end = try take(run.bytes, number, own, base: base, after: end)
    }
    return end
  }

  /// Begins a fragment of a track. If it does not begin where the one before ends, the duration of that one's last
  /// sample changes accordingly.
  private mutating func begin(_ number: UInt32, at time: UInt64) throws(MendError) {
    guard time < UInt64(1) << 60 else { throw Self.damaged }
    let end = ends[number] ?? 0
    guard let count = tables[number]?.samples.count, count > 0 else {
      starts[number] = time
      ends[number] = time
      return
    }
    guard time != end else { return }
    let last = UInt64(tables[number]?.samples[count - 1].duration ?? 0)
    guard time + last >= end, let duration = UInt32(exactly: time + last - end) else {
      throw MendError(.notMendable, "its fragments overlap in time, which a single index can't express")
    }
    tables[number]?.samples[count - 1].duration = duration
    ends[number] = time
  }

  private mutating func take(
    _ run: [UInt8], _ number: UInt32, _ defaults: Defaults, base: Int64, after: Int64
  ) throws(MendError) -> Int64 {
    let (flags, count) = (run.bigEndian32(at: 0) & 0xFFFFFF, Int(run.bigEndian32(at: 4)))
    var place = 8
    var offset = after
    if flags & 1 != 0 {
      offset = base + Int64(Int32(bitPattern: run.bigEndian32(at: place)))
      place += 4
    }
    var first: UInt32?
    if flags & 4 != 0 {
      first = run.bigEndian32(at: place)
      place += 4
    }
    let columns: [UInt32] = [0x100, 0x200, 0x400, 0x800]
    let width = 4 * columns.count { flags & $0 != 0 }
    guard offset >= 0, run.count >= place + width * count, count <= SampleTable.mostSamples else {
      throw Self.damaged
    }
    guard (tables[number]?.samples.count ?? 0) + count <= SampleTable.mostSamples else {
      throw SampleTable.tooMany
    }
    guard let description = UInt16(exactly: defaults.description) else { throw Self.damaged }
    func column(_ flag: UInt32) -> UInt32? {
      guard flags & flag != 0 else { return nil }
      defer { place += 4 }
      return run.bigEndian32(at: place)
    }
    var added: UInt64 = 0
    for index in 0..<count {
      let duration = column(0x100) ?? defaults.duration
      let size = column(0x200) ?? defaults.size
      let own = column(0x400)
      let shift = Int32(bitPattern: column(0x800) ?? 0)
      let marks = own ?? (index == 0 ? first : nil) ?? defaults.flags
      tables[number]?.samples.append(
        Sample(
          offset: offset, size: size, duration: duration, shift: shift, description: description,
          // The flags of a sample that is no sync sample, or depends on others (8.8.3).
          isSync: sounds.contains(number) || marks & 0x0101_0000 == 0))
      offset += Int64(size)
      added += UInt64(duration)
    }
    ends[number, default: 0] += added
    return offset
  }
}
