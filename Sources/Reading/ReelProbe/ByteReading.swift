/// Bytes that can be read by position.
package protocol ByteReading {
  /// The total number of bytes.
  var size: Int64 { get }

  /// Up to `count` bytes at `offset`; fewer at the end, none beyond it or when reading has failed.
  func bytes(at offset: Int64, count: Int) -> [UInt8]

  /// Whether bytes are fetched over a network, so that only few of them should be read.
  var isFar: Bool { get }

  /// Whether so many bytes were read, or so much time has passed, that the rest is reserved for what has to be read.
  var isHalfSpent: Bool { get }

  /// Announces that all of `range` will most likely be read, so that a remote file's bytes can be fetched at once.
  func willRead(_ range: Range<Int64>)
}

extension ByteReading {
  /// Whether a word is somewhere in a range.
  func contains(_ word: [UInt8], in range: Range<Int64>) -> Bool {
    let most = 256 << 10
    return stride(from: range.lowerBound, to: range.upperBound, by: most - word.count + 1).contains {
      PlaceSearch.index(of: word, in: bytes(at: $0, count: Int(min(Int64(most), range.upperBound - $0)))[...])
        != nil
    }
  }

  /// False by default, as for a local file.
  package var isFar: Bool { false }

  /// False by default, as nothing limits the reading.
  package var isHalfSpent: Bool { false }

  /// Does nothing by default: a local file needs no prefetching.
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
