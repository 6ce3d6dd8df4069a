import ReelCore
import ReelProbe

// What a track is, and how its picture is shown.
extension MovieBox {
  /// For a track: its handler type, such as `vide` or `soun` (ISO/IEC 14496-12, 8.4.3).
  var handler: FourCharacterCode? {
    guard let bytes = self[["mdia", "hdlr"]]?.bytes, bytes.count >= 12 else { return nil }
    return FourCharacterCode(bytes[8..<12])
  }

  /// For a track: its ID (8.3.2).
  var trackID: UInt32? {
    guard let bytes = self["tkhd"]?.bytes, let version = bytes.first else { return nil }
    return bytes.bigEndian32(at: version == 1 ? 20 : 12)
  }

  /// For a track header: the offset of its matrix, which is followed by width and height.
  private var matrixOffset: Int { bytes.first == 1 ? 52 : 40 }

  /// For an index: sets the rotation of all video tracks.
  /// - Parameter rotation: degrees clockwise: 0, 90, 180 or 270.
  /// - Returns: whether a track had another rotation.
  mutating func setRotation(_ rotation: Int) -> Bool {
    var isChanged = false
    changeEach("trak") { track in
      guard track.handler == "vide" else { return }
      track.change(["tkhd"]) { header in
        let place = header.matrixOffset
        guard header.bytes.count >= place + 44 else { return }
        let (width, height) = (
          header.bytes.bigEndian32(at: place + 36), header.bytes.bigEndian32(at: place + 40)
        )
        let one: UInt32 = 1 << 16
        let minus = UInt32(bitPattern: -(1 << 16))
        // After the rotation, the picture is moved back into view.
        let numbers: [UInt32] =
          switch rotation {
          case 90: [0, one, 0, minus, 0, 0, height, 0]
          case 180: [minus, 0, 0, 0, minus, 0, width, height]
          case 270: [0, minus, 0, one, 0, 0, 0, width]
          default: [one, 0, 0, 0, one, 0, 0, 0]
          }
        let old = header.bytes
        for (index, number) in (numbers + [1 << 30]).enumerated() {
          header.bytes.setBigEndian(number, at: place + 4 * index)
        }
        // The translation says nothing about the rotation.
        let turn = { (bytes: [UInt8]) in [0, 4, 12, 16].map { bytes.bigEndian32(at: place + $0) } }
        if turn(old) == turn(header.bytes) { header.bytes = old } else { isChanged = true }
      }
    }
    return isChanged
  }

  /// For an index: sets the pixel shape of all video tracks (`pasp`, 12.1.4).
  /// - Returns: whether a track had another shape.
  mutating func setSampleAspectRatio(_ ratio: Rational) throws(MendError) -> Bool {
    guard max(ratio.numerator, ratio.denominator) <= 1 << 16 else {
      throw MendError(.notMendable, "that pixel aspect ratio is out of range; use numbers up to 65536")
    }
    var isChanged = false
    try changeEach("trak") { track throws(MendError) in
      guard track.handler == "vide" else { return }
      var codedWidth: UInt64 = 0
      var isOther = false
      try track.change(["mdia", "minf", "stbl", "stsd"]) { descriptions throws(MendError) in
        let head = Array(descriptions.bytes.prefix(8))
        let (entries, tail) = Self.children(of: descriptions.bytes.dropFirst(8))
        guard !entries.isEmpty else { throw MendError(.corrupt, "its index does not describe its video") }
        var bytes = head
        for var entry in entries {
          codedWidth = UInt64(entry.bytes.bigEndian16(at: 24))
          isOther = try entry.setPixelShape(ratio) || isOther
          bytes += entry.serialized
        }
        if isOther { descriptions.bytes = bytes + tail }
      }
      guard isOther else { return }
      isChanged = true
      track.change(["tkhd"]) { header in
        let width = codedWidth << 16 * UInt64(clamping: ratio.numerator) / UInt64(clamping: ratio.denominator)
        guard let width = UInt32(exactly: width) else { return }
        header.bytes.setBigEndian(width, at: header.matrixOffset + 36)
      }
    }
    return isChanged
  }

  /// For a video sample entry: sets its pixel shape. Returns whether it had another.
  private mutating func setPixelShape(_ ratio: Rational) throws(MendError) -> Bool {
    let fixed = 78
    guard bytes.count >= fixed, let across = UInt32(exactly: ratio.numerator),
      let down = UInt32(exactly: ratio.denominator)
    else {
      throw MendError(.notMendable, "its video's sample entry is too short to hold a pixel aspect ratio")
    }
    var (boxes, tail) = Self.children(of: bytes.dropFirst(fixed))
    var shape: [UInt8] = []
    shape.appendBigEndian(across)
    shape.appendBigEndian(down)
    if let place = boxes.firstIndex(where: { $0.type == "pasp" }) {
      guard boxes[place].bytes != shape else { return false }
      boxes[place] = MovieBox("pasp", shape)
    } else {
      boxes.append(MovieBox("pasp", shape))
    }
    bytes = Array(bytes.prefix(fixed)) + boxes.flatMap(\.serialized) + tail
    return true
  }
}
