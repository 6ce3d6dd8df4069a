import CFFmpeg

/// A reader of the times in the packets of an ASF file (Advanced Systems Format 1.20, 5), by stream number. All packets
/// have the same size, so the last ones are found at once.
struct ASFClock<Bytes: ByteReading> {
  private let file: Bytes
  private var clock = ContentClock(base: AVRational(num: 1, den: 1000), ahead: PacketExtent.Jump.longestPause)

  /// The number of packets that are read from either end.
  private static var mostPackets: Int64 { 128 }
  /// The same for a file that is read in full: those of a hundred hours.
  private static var mostPacketsInAll: Int64 { 1 << 20 }
  /// The number of packets that are read at each place between the ends.
  private static var windowPackets: Int64 { 32 }

  /// - Parameters:
  ///   - data: the position of the data object.
  ///   - packetSize: the size of each packet in bytes.
  ///
  /// Nil if no times are found, or if all packets are to be read and there are too many. The times include the preroll:
  /// their zero lies that long before the beginning.
  static func read(_ file: Bytes, data: Int64, packetSize: Int64, isWhole: Bool) -> ContentClock? {
    var reader = ASFClock(file: file)
    let first = data + 50
    let claimed = file.littleEndian(at: data + 16, width: 8) ?? 0
    let isEndKnown = claimed > 50 && claimed < 1 << 62
    let end = isEndKnown ? min(file.size, data + Int64(claimed)) : file.size
    let packets = (end - first) / max(1, packetSize)
    guard packetSize >= 32, packetSize <= 1 << 20, packets > 0 else { return nil }
    // Whether packets continue beyond the stated end.
    let goesOn =
      isEndKnown && reader.isMarked(first) && first + (packets + 1) * packetSize <= file.size
      && reader.isMarked(first + packets * packetSize)
    let mostPackets =
      isWhole ? Self.mostPacketsInAll : file.isFar ? Self.mostPackets / 8 : Self.mostPackets
    if isWhole, packets > mostPackets { return nil }
    // After a damaged place, packets may begin anywhere.
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
        // Adjacent places show more together than each of them does.
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

  /// The beginning of nearly every packet (5.2.1): two bytes of error correction data, which are unused.
  private static var mark: [UInt8] { [0x82, 0, 0] }

  private func isMarked(_ place: Int64) -> Bool { file.bytes(at: place, count: 3) == Self.mark }

  /// Takes one packet after the other, even if bytes were lost or inserted between them. Returns whether all were read.
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
          // The stated end no longer holds.
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

  /// Returns the position of the first packet from `start` on that has the mark and is followed by another packet or
  /// the end of the file.
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

  /// The number of parts of the file, each of `searched` bytes, that were searched for a packet so far.
  private var searchedParts = 0
  private static var searched: Int { 256 << 10 }
  private static var mostSearched: Int { 64 }

  /// Whether what begins here states its size, as index objects do.
  private static func isObject(_ file: Bytes, at place: Int64) -> Bool {
    file.littleEndian(at: place + 16, width: 8).map { $0 >= 24 && $0 <= UInt64(file.size - place) } ?? true
  }

  /// Whether another file was appended to this one: a header follows the indexes. Players stop before it.
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

  /// The number of index objects that are skipped. There is one of each kind for each video stream.
  private static var mostIndexes: Int { 32 }

  /// Returns the send time of the packet at `start`, in milliseconds.
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

/// A reader of little-endian numbers of up to four bytes.
struct LittleEndianReader {
  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func number(_ width: Int) -> Int? {
    guard position + width <= bytes.count else { return nil }
    defer { position += width }
    return bytes[position..<(position + width)].reversed().reduce(0) { $0 << 8 | Int($1) }
  }

  /// Reads a number whose length is given by two bits: no bytes, which means 0, or one, two or four.
  mutating func number(ofKind kind: Int) -> Int? { number([0, 1, 2, 4][kind & 3]) }

  mutating func skip(_ count: Int) -> Bool {
    guard count >= 0, count <= bytes.count - position else { return false }
    position += count
    return true
  }
}
