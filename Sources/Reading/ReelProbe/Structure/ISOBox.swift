/// A box of an ISO base media file (ISO/IEC 14496-12, 4.2), of which only the header is read.
package struct ISOBox: Hashable {
  package let type: FourCharacterCode
  /// Where its header begins.
  package let start: Int64
  /// Where its contents begin.
  package let contents: Int64
  /// Where it ends by its own account, which may be beyond the end of its parent.
  package let end: Int64
}

extension ISOBox {
  /// Kinds of boxes on the outermost level.
  private static let outermost: Set<FourCharacterCode> = [
    "ftyp", "styp", "moov", "moof", "mdat", "imda", "mfra", "sidx", "ssix", "prft", "pdin", "emsg", "meta",
    "meco",
    "udta", "uuid", "free", "skip", "wide", "pnot",
  ]

  /// Whether this may be a box of the outermost level that the end of the file cuts off. What claims to continue
  /// beyond that, and is of no such kind, was appended after the last box, such as a tag or the end of an upload
  /// form.
  package func isPart(ofFileOf size: Int64) -> Bool { end <= size || isKnown }

  /// Whether it is of a kind that is known on the outermost level.
  var isKnown: Bool { Self.outermost.contains(type) }

  /// Whether there is a fragment (`moof`, whose first box is `mfhd`) in a part of a file.
  static func hasFragment(_ file: some ByteReading, in range: Range<Int64>) -> Bool {
    file.contains([UInt8]("moof".utf8) + [0, 0, 0, 16] + [UInt8]("mfhd".utf8), in: range)
  }

  /// Returns the boxes within this one, after `skipped` bytes of its own. They end where it does at the latest: what
  /// a box claims beyond that belongs to others, and would be read once for each box that claims it.
  func children(
    in file: some ByteReading, behind skipped: Int64 = 0, atMost count: Int
  ) -> some Sequence<ISOBox> {
    let limit = min(end, file.size)
    let range = min(contents + skipped, limit)..<limit
    return ISOBoxes(file, in: range, atMost: count).lazy.map { $0.ending(at: limit) }
  }

  private func ending(at limit: Int64) -> ISOBox {
    end <= limit ? self : ISOBox(type: type, start: start, contents: min(contents, limit), end: limit)
  }
}

/// The boxes in a range of a file, one after the other, up to a maximum number or the first that is not a box.
package struct ISOBoxes<Bytes: ByteReading>: Sequence, IteratorProtocol {
  private let file: Bytes
  private let end: Int64
  private var position: Int64
  private var left: Int

  /// The boxes of `file` in `range`.
  package init(_ file: Bytes, in range: Range<Int64>, atMost count: Int) {
    self.file = file
    position = range.lowerBound
    end = range.upperBound
    left = count
  }

  /// The next box.
  package mutating func next() -> ISOBox? {
    guard left > 0, end - position >= 8, let box = readBox(at: position) else { return nil }
    left -= 1
    position = box.end
    return box
  }

  private func readBox(at start: Int64) -> ISOBox? {
    let header = file.bytes(at: start, count: 16)
    guard header.count >= 8 else { return nil }
    let type = FourCharacterCode(header[4..<8])
    guard type.value != 0 else { return nil }
    let short = header[0..<4].reduce(Int64(0)) { $0 << 8 | Int64($1) }
    switch short {
    case 0: return ISOBox(type: type, start: start, contents: start + 8, end: end)
    case 1:
      guard header.count == 16 else { return nil }
      let long = header[8..<16].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      guard long >= 16, long <= UInt64(Int64.max - start) else { return nil }
      return ISOBox(type: type, start: start, contents: start + 16, end: start + Int64(long))
    case 8...(Int64.max - start):
      return ISOBox(type: type, start: start, contents: start + 8, end: start + short)
    default: return nil
    }
  }
}
