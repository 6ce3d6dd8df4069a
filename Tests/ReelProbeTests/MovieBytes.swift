/// An ISO base media file whose fields a test changes.
struct MovieBytes {
  private(set) var bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The offset of the contents of the box at `path`, the first of its kind on each level; `track` counts from 0.
  func box(_ path: String, track: Int = 0) -> Int? {
    var range = 0..<bytes.count
    var found: Int?
    for name in path.split(separator: "/") {
      guard let box = boxes(in: range).filter({ $0.type == name }).dropFirst(name == "trak" ? track : 0).first
      else {
        return nil
      }
      (found, range) = (box.contents.lowerBound, box.contents)
    }
    return found
  }

  /// The offset of the first sample entry of the track with this handler.
  func entry(of handler: String) -> Int? {
    for track in 0..<8 {
      guard let place = box("moov/trak/mdia/hdlr", track: track) else { return nil }
      if bytes[(place + 8)..<(place + 12)].elementsEqual(handler.utf8) {
        return box("moov/trak/mdia/minf/stbl/stsd", track: track).map { $0 + 8 }
      }
    }
    return nil
  }

  func number(at place: Int, bytes count: Int = 4) -> UInt64 {
    bytes[place..<(place + count)].reduce(0) { $0 << 8 | UInt64($1) }
  }

  mutating func write(_ number: UInt64, at place: Int, bytes count: Int = 4) {
    for index in 0..<count {
      bytes[place + index] = UInt8(truncatingIfNeeded: number >> UInt64(8 * (count - 1 - index)))
    }
  }

  /// Inserts bytes into the box at `path`, at a place to whose following data nothing points, and enlarges the boxes
  /// around it.
  ///
  /// - Returns: Whether there is such a box.
  mutating func insert(_ new: [UInt8], at place: Int, in path: String, track: Int = 0) -> Bool {
    let names = path.split(separator: "/")
    let around = (1...names.count).map { names.prefix($0).joined(separator: "/") }
    let starts = around.compactMap { box($0, track: track).map { $0 - 8 } }
    guard starts.count == names.count else { return false }
    for start in starts { write(number(at: start) + UInt64(new.count), at: start) }
    bytes.insert(contentsOf: new, at: place)
    return true
  }

  private func boxes(in range: Range<Int>) -> [(type: String, contents: Range<Int>)] {
    var (found, next): ([(type: String, contents: Range<Int>)], Int) = ([], range.lowerBound)
    while next + 8 <= range.upperBound {
      let size = Int(number(at: next))
      guard size >= 8, next + size <= range.upperBound else { break }
      found.append(
        (String(decoding: bytes[(next + 4)..<(next + 8)], as: UTF8.self), (next + 8)..<(next + size)))
      next += size
    }
    return found
  }
}
