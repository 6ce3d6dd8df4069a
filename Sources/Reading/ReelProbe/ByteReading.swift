/// Bytes that are read by position.
package protocol ByteReading {
  /// Bytes in all.
  var size: Int64 { get }

  /// Up to `count` bytes at `offset`; fewer at the end, none beyond it or when reading has failed.
  func bytes(at offset: Int64, count: Int) -> [UInt8]

  /// Whether bytes are fetched from far away, so that only few of them should be read.
  var isFar: Bool { get }

  /// Whether so much was read, or so much time has passed, that the rest is left for what has to be read.
  var isHalfSpent: Bool { get }

  /// Says that all of `range` will most likely be read, so that what lies far away is fetched at once.
  func willRead(_ range: Range<Int64>)
}

extension ByteReading {
  /// Whether that is so: not for a file that is here.
  package var isFar: Bool { false }

  /// Never, where nothing limits the reading.
  package var isHalfSpent: Bool { false }

  /// Means nothing where every byte is as near as the others.
  func willRead(_ range: Range<Int64>) {}

  /// The big-endian number in `width` bytes (at most 8) at `offset`; nil when they are not all there.
  package func bigEndian(at offset: Int64, width: Int) -> UInt64? {
    let found = bytes(at: offset, count: width)
    guard found.count == width else { return nil }
    return found.reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// The little-endian number in `width` bytes (at most 8) at `offset`; nil when they are not all there.
  package func littleEndian(at offset: Int64, width: Int) -> UInt64? {
    let found = bytes(at: offset, count: width)
    guard found.count == width else { return nil }
    return found.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}
