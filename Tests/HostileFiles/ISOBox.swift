/// A box of an ISO base media file (ISO/IEC 14496-12, 4.2), to be built, or changed after reading.
struct ISOBox {
  var type: String
  var payload: [UInt8]
  var children: [ISOBox]

  init(_ type: String, _ payload: [UInt8] = [], _ children: [ISOBox] = []) {
    self.type = type
    self.payload = payload
    self.children = children
  }

  /// A full box: version 0, no flags.
  static func full(_ type: String, _ payload: [UInt8]) -> ISOBox {
    ISOBox(type, [0, 0, 0, 0] + payload)
  }

  var bytes: [UInt8] {
    let content = payload + children.flatMap(\.bytes)
    return be32(8 + content.count) + Array(type.utf8) + content
  }

  private static let parents: Set = ["moov", "trak", "mdia", "minf", "stbl", "edts", "mvex", "moof", "traf"]

  /// The boxes of a file that is complete and honest.
  static func read(_ bytes: some Collection<UInt8>) -> [ISOBox] {
    var rest = Array(bytes)[...]
    var boxes: [ISOBox] = []
    while rest.count >= 8 {
      let size = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
      guard size >= 8, size <= rest.count else { break }
      let type = String(decoding: rest.dropFirst(4).prefix(4), as: Unicode.ASCII.self)
      let content = rest.prefix(size).dropFirst(8)
      boxes.append(
        parents.contains(type) ? ISOBox(type, [], read(content)) : ISOBox(type, Array(content)))
      rest = rest.dropFirst(size)
    }
    return boxes
  }

  /// A copy with every box of `type` changed, this one included.
  func changing(_ type: String, _ change: (inout ISOBox) -> Void) -> ISOBox {
    var box = self
    if box.type == type { change(&box) }
    box.children = box.children.map { $0.changing(type, change) }
    return box
  }
}

extension [ISOBox] {
  var bytes: [UInt8] { flatMap(\.bytes) }

  func changing(_ type: String, _ change: (inout ISOBox) -> Void) -> [ISOBox] {
    map { $0.changing(type, change) }
  }

  /// Puts `box` into every sample table, in the place of one of its type if there is one.
  func withTable(_ box: ISOBox) -> [ISOBox] {
    changing("stbl") { table in
      table.children.removeAll { $0.type == box.type }
      table.children.append(box)
    }
  }
}
