/// What the fragments of an ISO base media file hold of its tracks (ISO/IEC 14496-12, 8.8), by their own tables.
struct MovieFragments {
  struct Run: Hashable {
    fileprivate(set) var samples: Int64 = 0
    /// Ticks of the track.
    fileprivate(set) var ticks: Int64 = 0
  }
  /// By the id of the track.
  private(set) var runs: [UInt32: Run] = [:]
  private var defaults: [UInt32: Int64] = [:]

  /// - Parameter movie: the box `moov`.
  init(_ file: some ByteReading, movie: ISOBox) {
    takeDefaults(movie, of: file)
    for box in ISOBoxes(file, in: 0..<file.size, atMost: ISOFileMap.mostBoxes) where box.type == "moof" {
      for part in Self.boxes(in: box, of: file) where part.type == "traf" { takeTrack(part, of: file) }
    }
  }

  private static func boxes(in box: ISOBox, of file: some ByteReading) -> [ISOBox] {
    let end = min(box.end, file.size)
    return box.contents < end ? Array(ISOBoxes(file, in: box.contents..<end, atMost: 1024)) : []
  }

  /// `trex` (8.8.3): how long a sample lasts where its fragment does not say.
  private mutating func takeDefaults(_ movie: ISOBox, of file: some ByteReading) {
    for extends in Self.boxes(in: movie, of: file) where extends.type == "mvex" {
      for box in Self.boxes(in: extends, of: file) where box.type == "trex" {
        guard let id = file.bigEndian(at: box.contents + 4, width: 4),
          let step = file.bigEndian(at: box.contents + 12, width: 4)
        else { continue }
        defaults[UInt32(id)] = Int64(step)
      }
    }
  }

  /// `tfhd` (8.8.7) and its `trun` (8.8.8).
  private mutating func takeTrack(_ box: ISOBox, of file: some ByteReading) {
    let parts = Self.boxes(in: box, of: file)
    guard let header = parts.first(where: { $0.type == "tfhd" }),
      let flags = file.bigEndian(at: header.contents, width: 4),
      let id = file.bigEndian(at: header.contents + 4, width: 4).map(UInt32.init)
    else { return }
    var step = defaults[id] ?? 0
    if flags & 8 != 0 {
      let place = header.contents + 8 + (flags & 1 != 0 ? 8 : 0) + (flags & 2 != 0 ? 4 : 0)
      step = file.bigEndian(at: place, width: 4).map { Int64($0) } ?? step
    }
    for run in parts where run.type == "trun" { takeRun(run, id, step: step, of: file) }
  }

  private mutating func takeRun(_ box: ISOBox, _ id: UInt32, step: Int64, of file: some ByteReading) {
    guard let flags = file.bigEndian(at: box.contents, width: 4),
      let count = file.bigEndian(at: box.contents + 4, width: 4), count < 1 << 20
    else { return }
    var run = runs[id] ?? Run()
    run.samples += Int64(count)
    if flags & 0x100 == 0 {
      run.ticks += Int64(count) * step
    } else {
      let first = box.contents + 8 + (flags & 1 != 0 ? 4 : 0) + (flags & 4 != 0 ? 4 : 0)
      let width = [0x100, 0x200, 0x400, 0x800].reduce(0) { $0 + (flags & $1 != 0 ? 4 : 0) }
      let room = max(0, box.end - first) / Int64(width)
      let bytes = file.bytes(at: first, count: Int(min(Int64(count), room)) * width)
      for place in stride(from: 0, to: bytes.count - 3, by: width) {
        run.ticks += Int64(bytes.number(at: place, bytes: 4) ?? 0)
      }
    }
    runs[id] = run
  }
}
