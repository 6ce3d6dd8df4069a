/// An element of a Matroska file, seen by its header only (RFC 8794, 5 and 6).
package struct EBMLElement: Hashable {
  /// With its marker.
  package let id: UInt32
  /// Where its header begins.
  package let start: Int64
  /// Where its contents begin.
  package let contents: Int64
  /// Where it ends by its own account; nil when its size is unknown, as in a live recording.
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
  /// A Matroska cluster (RFC 9559, 5.1.3).
  package static let cluster: UInt32 = 0x1F43_B675
  /// Elements that are looked at within another one.
  private static let mostChildren = 512

  /// The elements within it, up to a number of them or the first cluster.
  func children(in file: some ByteReading) -> [EBMLElement] {
    let end = min(self.end ?? file.size, file.size)
    var found: [EBMLElement] = []
    var next = contents
    while next < end, found.count < Self.mostChildren, let element = EBMLElement(file, at: next) {
      found.append(element)
      guard let elementEnd = element.end, element.id != Self.cluster else { break }
      next = elementEnd
    }
    return found
  }
}
