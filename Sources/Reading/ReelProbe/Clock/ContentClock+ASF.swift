import CFFmpeg

/// The packets of an ASF file (Advanced Systems Format 1.20, 5), by the numbers of their streams. They are of one size,
/// so that the last ones are found at once.
struct ASFClock<Bytes: ByteReading> {
  private let file: Bytes
  private var clock = ContentClock(base: AVRational(num: 1, den: 1000), ahead: PacketExtent.Jump.longestPause)

  /// Packets that are looked at from either end.
  private static var mostPackets: Int64 { 128 }
  /// The same of a file that is looked at whole: of a hundred hours.
  private static var mostPacketsInAll: Int64 { 1 << 20 }
  /// Packets that are looked at in each place between them.
  private static var windowPackets: Int64 { 32 }

  /// - Parameters:
  ///   - data: where the data object begins.
  ///   - packetSize: bytes of each packet.
  ///
  /// Nil where no times are found, and where all packets were to be looked at, and are too many. They count from before the beginning, by the preroll.
  static func read(_ file: Bytes, data: Int64, packetSize: Int64, isWhole: Bool) -> ContentClock? {
    var reader = ASFClock(file: file)
    let first = data + 50
    let claimed = file.littleEndian(at: data + 16, width: 8) ?? 0
    let isEndKnown = claimed > 50 && claimed < 1 << 62
    let end = isEndKnown ? min(file.size, data + Int64(claimed)) : file.size
    let packets = (end - first) / max(1, packetSize)
    guard packetSize >= 32, packetSize <= 1 << 20, packets > 0 else { return nil }
    // Behind what it says of its end.
    let goesOn =
      isEndKnown && reader.isMarked(first) && first + (packets + 1) * packetSize <= file.size
      && reader.isMarked(first + packets * packetSize)
    let mostPackets =
      isWhole ? Self.mostPacketsInAll : file.isFar ? Self.mostPackets / 8 : Self.mostPackets
    if isWhole, packets > mostPackets { return nil }
    // Behind a damaged place they may be anywhere.
    let isDamaged = isEndKnown && !file.isFar && !reader.isMarked(first + (packets - 1) * packetSize)
    if reader.isMarked(first), packets <= mostPackets || isDamaged {
      guard reader.takeAll(first..<end, packetSize) else { return nil }
      reader.clock.isWhole = true
      if goesOn || hasAnother(file, behind: end) { reader.clock.isUnclear = true }
      return reader.clock.extents.isEmpty ? nil : reader.clock
    }
    for place in 0..<min(packets, mostPackets) {
      reader.take(first + place * packetSize, packetSize)
      if isWhole, file.isHalfSpent { return nil }
    }
    reader.clock.isWhole = packets <= mostPackets
    if goesOn || hasAnother(file, behind: end) { reader.clock.isUnclear = true }
    guard packets > mostPackets else { return reader.clock.extents.isEmpty ? nil : reader.clock }
    let tail = max(mostPackets, packets - mostPackets)
    if !file.isFar {
      let mark = { (place: Int64) in
        reader.sendTime(first + place * packetSize).map { SpreadPlaces.Mark(time: Int64($0), place: place) }
      }
      guard let begin = mark(mostPackets), let end = mark(tail) else { return nil }
      let starts = SpreadPlaces.between(begin, end, count: ContentClock.places, mark)
      var reached = mostPackets
      for (start, limit) in zip(starts, starts.dropFirst() + [tail]) {
        // Places that touch show more together than each of them does.
        if start > reached { reader.clock.beginWindow(atEnd: false) }
        reached = min(limit, start + Self.windowPackets)
        for place in start..<reached { reader.take(first + place * packetSize, packetSize) }
      }
    }
    reader.clock.beginWindow(atEnd: true)
    for place in tail..<packets { reader.take(first + place * packetSize, packetSize) }
    return reader.clock.extents.isEmpty ? nil : reader.clock
  }

  private init(file: Bytes) { self.file = file }

  /// What nearly every packet begins with (5.2.1): two bytes of error correction, which are not used.
  private static var mark: [UInt8] { [0x82, 0, 0] }

  private func isMarked(_ place: Int64) -> Bool { file.bytes(at: place, count: 3) == Self.mark }

  /// One packet after the other, also where bytes were lost or put in between two. Gives whether all were looked at.
  private mutating func takeAll(_ range: Range<Int64>, _ size: Int64) -> Bool {
    var (next, end) = (range.lowerBound, range.upperBound)
    for _ in 0..<Self.mostPacketsInAll {
      if next + size > end { return true }
      if isMarked(next) {
        take(next, size)
        next += size
      } else if let found = packet(from: next, size) {
        if (found - next) % size != 0 {
          clock.isUnclear = true
          // What is said of the end no longer holds.
          end = file.size
        }
        next = found
      } else {
        let isBlank = file.bytes(at: next, count: 4096).allSatisfy { $0 == 0 }
        if end - next > 2 * size, !isBlank, !Self.isObject(file, at: next) { clock.isEndLost = true }
        return true
      }
      if file.isHalfSpent { return false }
    }
    return false
  }

  /// The first that is marked, and has another one behind it, or the end of the file.
  private mutating func packet(from start: Int64, _ size: Int64) -> Int64? {
    var place = start
    while !file.isFar, searchedParts < Self.mostSearched, place < file.size {
      searchedParts += 1
      let bytes = file.bytes(at: place, count: Self.searched + 2)
      let found = bytes.indices.dropLast(2).first {
        guard bytes[$0] == 0x82, bytes[$0 + 1] == 0, bytes[$0 + 2] == 0 else { return false }
        let next = place + Int64($0) + size
        return next == file.size || isMarked(next)
      }
      if let found { return place + Int64(found) }
      place += Int64(Self.searched)
    }
    return nil
  }

  /// Parts of this size in which one is looked for, in all.
  private var searchedParts = 0
  private static var searched: Int { 256 << 10 }
  private static var mostSearched: Int { 64 }

  /// Whether what begins here says its size, as indexes do.
  private static func isObject(_ file: Bytes, at place: Int64) -> Bool {
    file.littleEndian(at: place + 16, width: 8).map { $0 >= 24 && $0 <= UInt64(file.size - place) } ?? true
  }

  /// Whether another file was joined to this one: behind its indexes comes a header. Players end before it.
  private static func hasAnother(_ file: Bytes, behind end: Int64) -> Bool {
    var next = end
    for _ in 0..<mostIndexes where next + 24 <= file.size {
      if file.bytes(at: next, count: 16) == ASFFile.header { return true }
      guard let size = file.littleEndian(at: next + 16, width: 8), size >= 24, size < UInt64(file.size) else {
        return false
      }
      next += Int64(size)
    }
    return false
  }

  /// One for each stream of pictures, of each kind.
  private static var mostIndexes: Int { 32 }

  /// When the packet at `start` is to be sent, in milliseconds.
  private func sendTime(_ start: Int64) -> Int? {
    var reader = LittleEndianReader(file.bytes(at: start, count: 64))
    return Self.header(&reader)?.time
  }

  private static func header(
    _ reader: inout LittleEndianReader
  ) -> (flags: Int, properties: Int, time: Int)? {
    guard let first = reader.number(1) else { return nil }
    var flags = first
    if first & 0x80 != 0 {
      guard first & 0x60 == 0, reader.skip(Int(first & 0x0f)), let next = reader.number(1) else { return nil }
      flags = next
    }
    guard let properties = reader.number(1), reader.number(ofKind: flags >> 5) != nil,
      reader.number(ofKind: flags >> 1) != nil, reader.number(ofKind: flags >> 3) != nil,
      let time = reader.number(4), reader.skip(2)
    else { return nil }
    return (flags, properties, time)
  }

  private mutating func take(_ start: Int64, _ size: Int64) {
    let bytes = file.bytes(at: start, count: Int(size))
    var reader = LittleEndianReader(bytes)
    guard let (flags, properties, _) = Self.header(&reader) else { return }
    var (payloads, lengthKind) = (1, 0)
    if flags & 1 != 0 {
      guard let count = reader.number(1) else { return }
      (payloads, lengthKind) = (count & 0x3f, count >> 6)
    }
    for _ in 0..<payloads {
      guard let stream = reader.number(1), reader.number(ofKind: properties >> 4) != nil,
        let offset = reader.number(ofKind: properties >> 2),
        let replicated = reader.number(ofKind: properties)
      else { return }
      if replicated == 1 {
        clock.add(stream & 0x7f, at: Int64(offset))
        guard reader.skip(1) else { return }
      } else if replicated >= 8 {
        guard reader.skip(4), let time = reader.number(4), reader.skip(replicated - 8) else { return }
        if offset == 0 { clock.add(stream & 0x7f, at: Int64(time)) }
      } else if !reader.skip(replicated) {
        return
      }
      guard flags & 1 != 0 else { return }
      guard let length = reader.number(ofKind: lengthKind), reader.skip(length) else { return }
    }
  }
}

/// Numbers of up to four bytes, the lowest first.
struct LittleEndianReader {
  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func number(_ width: Int) -> Int? {
    guard position + width <= bytes.count else { return nil }
    defer { position += width }
    return bytes[position..<(position + width)].reversed().reduce(0) { $0 << 8 | Int($1) }
  }

  /// By two bits: none, which is 0, or one, two or four bytes.
  mutating func number(ofKind kind: Int) -> Int? { number([0, 1, 2, 4][kind & 3]) }

  mutating func skip(_ count: Int) -> Bool {
    guard count >= 0, count <= bytes.count - position else { return false }
    position += count
    return true
  }
}
