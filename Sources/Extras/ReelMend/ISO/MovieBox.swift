import ReelProbe

/// A box of an index that can be changed: its bytes, or the boxes in it.
struct MovieBox: Hashable {
  enum Content: Hashable {
    case bytes([UInt8])
    /// - Parameters:
    ///   - head: the bytes before the first box, such as a version and flags.
    ///   - tail: the bytes after the last one that are no box, such as QuickTime's terminator.
    indirect case boxes(head: [UInt8], [MovieBox], tail: [UInt8])
  }
  var type: FourCharacterCode
  var content: Content

  init(_ type: FourCharacterCode, _ content: Content) {
    self.type = type
    self.content = content
  }

  init(_ type: FourCharacterCode, _ bytes: [UInt8]) {
    self.init(type, .bytes(bytes))
  }

  /// Boxes whose contents are boxes.
  private static let containers: Set<FourCharacterCode> = [
    "moov", "trak", "mdia", "minf", "gmhd", "stbl", "edts", "tapt", "udta", "dinf", "tref", "mvex", "meta",
    "ilst",
    "meco",
  ]
  /// The depth beyond which boxes are not looked into.
  private static let deepest = 12

  /// Parses a box of `type` with these contents, as far as its type is known.
  init(parsing type: FourCharacterCode, _ contents: ArraySlice<UInt8>, depth: Int = 0) {
    self.type = type
    guard Self.containers.contains(type), depth < Self.deepest else {
      content = .bytes(Array(contents))
      return
    }
    let isFull = type == "meta" && MoviePlaces.isFull(metadata: contents)
    let head = contents.prefix(isFull ? 4 : 0)
    let (boxes, tail) = Self.children(of: contents.dropFirst(head.count), depth: depth + 1)
    content = .boxes(head: Array(head), boxes, tail: Array(tail))
  }

  /// Returns the boxes at the beginning of `contents`, and the rest.
  static func children(
    of contents: ArraySlice<UInt8>, depth: Int = 0
  ) -> ([MovieBox], ArraySlice<UInt8>) {
    let found = MoviePlaces.boxes(in: contents)
    return (
      found.map { MovieBox(parsing: $0.type, $0.contents, depth: depth) }, found.last?.rest ?? contents
    )
  }

  /// Returns the header of a box of `size` bytes, header included.
  /// - Parameter isWide: whether the size takes 64 bits even if 32 suffice.
  static func header(_ type: FourCharacterCode, size: Int64, isWide: Bool = false) -> [UInt8] {
    let short = isWide ? nil : UInt32(exactly: size)
    var header: [UInt8] = []
    header.appendBigEndian(short ?? 1)
    header.appendBigEndian(type.value)
    if short == nil { header.appendBigEndian(size) }
    return header
  }

  /// Its bytes, header included.
  var serialized: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(size)
    append(to: &bytes)
    return bytes
  }

  /// Its bytes, without its header.
  var contents: ArraySlice<UInt8> {
    if case .bytes(let bytes) = content { return bytes[...] }
    return serialized.dropFirst(8)
  }

  /// Its size in bytes, header included.
  var size: Int {
    switch content {
    case .bytes(let bytes): 8 + bytes.count
    case .boxes(let head, let boxes, let tail):
      boxes.reduce(8 + head.count + tail.count) { $0 + $1.size }
    }
  }

  private func append(to bytes: inout [UInt8]) {
    bytes.appendBigEndian(UInt32(truncatingIfNeeded: size))
    bytes.appendBigEndian(type.value)
    switch content {
    case .bytes(let own): bytes += own
    case .boxes(let head, let boxes, let tail):
      bytes += head
      for box in boxes { box.append(to: &bytes) }
      bytes += tail
    }
  }
}

// Contents.
extension MovieBox {
  /// The boxes in it; none if it holds bytes.
  var boxes: [MovieBox] {
    get { if case .boxes(_, let boxes, _) = content { boxes } else { [] } }
    set {
      guard case .boxes(let head, _, let tail) = content else { return }
      content = .boxes(head: head, newValue, tail: tail)
    }
  }

  /// Its bytes; none if it holds boxes.
  var bytes: [UInt8] {
    get { if case .bytes(let bytes) = content { bytes } else { [] } }
    set { content = .bytes(newValue) }
  }

  /// The first box of this type in it. Setting it replaces, removes or adds a box.
  subscript(type: FourCharacterCode) -> MovieBox? {
    get { boxes.first { $0.type == type } }
    set {
      let place = boxes.firstIndex { $0.type == type }
      switch (place, newValue) {
      case (let place?, let box?): boxes[place] = box
      case (let place?, nil): boxes.remove(at: place)
      case (nil, let box?): boxes.append(box)
      case (nil, nil): break
      }
    }
  }

  /// The box at the end of a path from here.
  subscript(path: [FourCharacterCode]) -> MovieBox? {
    path.reduce(Optional(self)) { $0?[$1] }
  }

  /// Changes the box at the end of a path from here, if there is one.
  mutating func change<Failure: Error>(
    _ path: ArraySlice<FourCharacterCode>, _ body: (inout MovieBox) throws(Failure) -> Void
  ) throws(Failure) {
    guard let first = path.first else { return try body(&self) }
    guard case .boxes(let head, var boxes, let tail) = content,
      let place = boxes.firstIndex(where: { $0.type == first })
    else { return }
    // Keep a single reference to the boxes while they are changed, so that they are not copied.
    content = .bytes([])
    defer { content = .boxes(head: head, boxes, tail: tail) }
    try boxes[place].change(path.dropFirst(), body)
  }

  /// Changes each box of a type in it.
  mutating func changeEach<Failure: Error>(
    _ type: FourCharacterCode, _ body: (inout MovieBox) throws(Failure) -> Void
  ) throws(Failure) {
    guard case .boxes(let head, var boxes, let tail) = content else { return }
    content = .bytes([])
    defer { content = .boxes(head: head, boxes, tail: tail) }
    for place in boxes.indices where boxes[place].type == type { try body(&boxes[place]) }
  }
}
