/// An element of a Matroska file, of which only the header is read (RFC 8794, 5 and 6).
package struct EBMLElement: Hashable {
  /// The identifier, including its marker.
  package let id: UInt32
  /// Where its header begins.
  package let start: Int64
  /// Where its contents begin.
  package let contents: Int64
  /// Where it ends by its own account; nil if its size is unknown, as in a live recording.
  package let end: Int64?

  /// Nil when there is no element at `start`.
  package init?(_ file: some ByteReading, at start: Int64) {
    let header = file.bytes(at: start, count: 12)
    guard let first = header.first, first.leadingZeroBitCount < 4 else { return nil }
    let idWidth = first.leadingZeroBitCount + 1
    guard header.count > idWidth, header[idWidth] != 0 else { return nil }
    let sizeWidth = header[idWidth].leadingZeroBitCount + 1
    guard header.count >= idWidth + sizeWidth else { return nil }
    let coded = header[idWidth..<(idWidth + sizeWidth)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let unknown = UInt64(1) << (7 * UInt64(sizeWidth)) - 1
    let size = coded & unknown
    id = header[..<idWidth].reduce(0) { $0 << 8 | UInt32($1) }
    self.start = start
    contents = start + Int64(idWidth + sizeWidth)
    end = size == unknown ? nil : contents + Int64(size)
  }
}

extension EBMLElement {
  /// Returns the segment that begins at `start`, with or without a header of its own, after elements that may be
  /// anywhere (RFC 8794, 11.3).
  static func segment(in file: some ByteReading, from start: Int64 = 0) -> EBMLElement? {
    var next = start
    for _ in 0..<16 where next < file.size {
      guard let element = EBMLElement(file, at: next) else { return nil }
      if element.id == MatroskaID.segment { return element }
      guard [MatroskaID.header, MatroskaID.void, MatroskaID.checksum].contains(element.id),
        let end = element.end
      else { return nil }
      next = end
    }
    return nil
  }

  /// The most elements to look at within another one.
  private static let mostChildren = 512

  /// Returns the elements within this one, up to a maximum number or the first cluster.
  func children(in file: some ByteReading) -> [EBMLElement] {
    let end = min(self.end ?? file.size, file.size)
    var found: [EBMLElement] = []
    var next = contents
    while next < end, found.count < Self.mostChildren, let element = EBMLElement(file, at: next) {
      found.append(element)
      guard let elementEnd = element.end, element.id != MatroskaID.cluster else { break }
      next = elementEnd
    }
    return found
  }

  /// Returns the unsigned number that it holds; nil if that does not have 1 to 8 bytes.
  func number(in file: some ByteReading) -> UInt64? {
    guard let end, (1...8).contains(end - contents) else { return nil }
    return file.bigEndian(at: contents, width: Int(end - contents))
  }

  /// Returns the element with this identifier to which a seek head points (RFC 9559, 5.1.1). It may be behind the
  /// clusters. The seek head is searched for in `outermost`, the elements at the beginning of this segment.
  func sought(_ id: UInt32, from outermost: [EBMLElement], in file: some ByteReading) -> EBMLElement? {
    let seeks = outermost.first { $0.id == MatroskaID.seekHead }?.children(in: file) ?? []
    for seek in seeks where seek.id == MatroskaID.seek {
      let parts = seek.children(in: file)
      guard parts.contains(where: { $0.id == MatroskaID.seekID && $0.number(in: file) == UInt64(id) }),
        let position = parts.first(where: { $0.id == MatroskaID.seekPosition })?.number(in: file),
        position < UInt64(file.size)
      else { continue }
      let found = EBMLElement(file, at: contents + Int64(position))
      return found?.id == id ? found : nil
    }
    return nil
  }
}
