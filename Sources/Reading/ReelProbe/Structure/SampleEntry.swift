import ReelCore

/// The description of a track's samples (ISO/IEC 14496-12, 8.5.2 and 12; QuickTime File Format, "Sample Description
/// Atoms").
struct SampleEntry: Hashable {
  /// The format as it is in the file: `encv` and `enca` for what is encrypted.
  let format: FourCharacterCode
  /// The format before encryption (8.12.2); nil if it is not encrypted.
  private(set) var original: FourCharacterCode?
  /// Whether it says how its samples are encrypted, and that they are (ISO/IEC 23001-7, 8.2), whatever its format.
  private(set) var isProtected = false
  /// The width in pixels; only for pictures. Likewise the height.
  private(set) var width: Int?
  private(set) var height: Int?
  /// The shape of a pixel, by `pasp` (12.1.4).
  private(set) var pixel: SampleAspectRatio?
  /// The transfer function by `colr` (12.1.5), as numbered in ITU-T H.273; nil if it states none.
  private(set) var transfer: UInt32?
  /// Whether it has a Dolby Vision record.
  private(set) var hasDolbyVision = false
  /// The size of the clean aperture, in pixels.
  private(set) var aperture: Aperture?
  /// The number of channels; only for sound.
  private(set) var channels: Int?
  private(set) var sampleRate: Int?
  /// How uncompressed sound is stored (ISO/IEC 23003-5, 5.2); nil if it does not say.
  private(set) var plain: Plain?
  /// The configuration of the codec: the contents of `avcC`, `hvcC`, `av1C` …
  private(set) var configuration: [UInt8]?
  /// The decoder's own bytes in an elementary stream descriptor (ISO/IEC 14496-1, 7.2.6.5).
  private(set) var decoderBytes: [UInt8]?

  struct Aperture: Hashable {
    let width: Double
    let height: Double
  }

  struct Plain: Hashable {
    let bits: Int
    let isLittleEndian: Bool
  }

  /// The most bytes of an entry to read.
  private static let mostBytes: Int64 = 65_536
  /// The bytes before the boxes in an entry of pictures, and in one of sound.
  private static let pictureHead = 78
  private static let soundHead = 28
  private static let configurations: Set<FourCharacterCode> = [
    "avcC", "hvcC", "lhvC", "av1C", "vpcC", "vvcC", "dac3", "dec3", "dOps", "dfLa", "alac",
  ]

  init(_ box: ISOBox, handler: FourCharacterCode?, of file: some ByteReading) {
    format = box.type
    let bytes = file.bytes(at: box.contents, count: Int(max(0, min(Self.mostBytes, box.end - box.contents))))
    switch handler {
    case "vide":
      (width, height) = (
        Self.known(bytes.number(at: 24, bytes: 2)), Self.known(bytes.number(at: 26, bytes: 2))
      )
      takeBoxes(bytes, from: Self.pictureHead)
      if pixel == nil { pixel = Self.hiddenPixel(in: bytes) }
    case "soun":
      // QuickTime has longer heads, depending on the version.
      let version = bytes.number(at: 8, bytes: 2) ?? 0
      channels = Self.known(bytes.number(at: 16, bytes: 2))
      sampleRate = Self.known(bytes.number(at: 24, bytes: 2))
      takeBoxes(bytes, from: Self.soundHead + (version == 1 ? 16 : version == 2 ? 36 : 0))
    default: break
    }
  }

  /// Returns nil for zero, which says nothing.
  private static func known(_ number: Int?) -> Int? { number == 0 ? nil : number }

  /// Reads the boxes from a place on, up to the first that is not a box.
  /// - Parameter depth: the number of boxes that contain them.
  private mutating func takeBoxes(_ bytes: [UInt8], from start: Int, depth: Int = 0) {
    var next = start
    while let size = bytes.number(at: next, bytes: 4), size >= 8, size <= bytes.count - next {
      take(FourCharacterCode(bytes[(next + 4)..<(next + 8)]), Array(bytes[(next + 8)..<(next + size)]), depth)
      next += size
    }
  }

  private mutating func take(_ type: FourCharacterCode, _ body: [UInt8], _ depth: Int) {
    switch type {
    case "pasp": pixel = pixel ?? Self.pixel(body, at: 0)
    case "clap": aperture = aperture ?? Self.aperture(body)
    case "colr":
      // The first one that names a function counts.
      let isCoded = body.starts(with: Array("nclx".utf8)) || body.starts(with: Array("nclc".utf8))
      if isCoded, transfer == nil, let named = body.number(at: 6, bytes: 2).map(UInt32.init),
        VideoUsability.Colour.isSaid(named)
      {
        transfer = named
      }
    // A `wave` may contain a `sinf`, and nothing deeper.
    case "sinf", "wave", "schi": if depth < 2 { takeBoxes(body, from: 0, depth: depth + 1) }
    case "tenc": if body.count > 6, body[6] == 1 { isProtected = true }
    case "frma":
      if body.count >= 4, format == "encv" || format == "enca" { original = FourCharacterCode(body) }
    case "dvcC", "dvvC", "dvwC": hasDolbyVision = true
    case "pcmC":
      if body.count > 5, ["ipcm", "fpcm"].contains(format) {
        plain = Plain(bits: Int(body[5]), isLittleEndian: body[4] & 1 != 0)
      }
    case "esds": takeDescriptor(body)
    default:
      if configuration == nil, Self.configurations.contains(type) { configuration = body }
    }
  }

  private static func pixel(_ bytes: [UInt8], at place: Int) -> SampleAspectRatio? {
    guard let across = bytes.number(at: place, bytes: 4), let down = bytes.number(at: place + 4, bytes: 4)
    else { return nil }
    return Rational(across, down).map(SampleAspectRatio.init)
  }

  /// Returns the shape in a `pasp` that is hidden, because a writer's boxes do not end where the next one begins.
  private static func hiddenPixel(in bytes: [UInt8]) -> SampleAspectRatio? {
    let mark: [UInt8] = [0, 0, 0, 16] + Array("pasp".utf8)
    guard bytes.count >= pictureHead + 16 else { return nil }
    return (pictureHead...(bytes.count - 16))
      .first { bytes[$0] == 0 && bytes[$0 + 4] == mark[4] && bytes[$0...].starts(with: mark) }
      .flatMap { pixel(bytes, at: $0 + 8) }
  }

  private static func aperture(_ body: [UInt8]) -> Aperture? {
    let numbers = (0..<4).compactMap { body.number(at: 4 * $0, bytes: 4).map(Double.init) }
    guard numbers.count == 4, numbers[1] > 0, numbers[3] > 0 else { return nil }
    return Aperture(width: numbers[0] / numbers[1], height: numbers[2] / numbers[3])
  }

  /// Reads the nested descriptors: 3, the stream; 4, its decoder; 5, what the decoder needs.
  private mutating func takeDescriptor(_ body: [UInt8]) {
    var rest = body.dropFirst(4)
    guard Self.open(3, &rest) != nil, rest.count > 3, let flags = rest.dropFirst(2).first else { return }
    rest = rest.dropFirst(3)
    if flags & 0x80 != 0 { rest = rest.dropFirst(2) }
    if flags & 0x40 != 0, let length = rest.first { rest = rest.dropFirst(1 + Int(length)) }
    if flags & 0x20 != 0 { rest = rest.dropFirst(2) }
    guard Self.open(4, &rest) != nil else { return }
    rest = rest.dropFirst(13)
    guard let length = Self.open(5, &rest), length <= rest.count else { return }
    decoderBytes = Array(rest.prefix(length))
  }

  /// Skips the head of a descriptor and returns its length; nil if another descriptor is there.
  private static func open(_ tag: UInt8, _ rest: inout ArraySlice<UInt8>) -> Int? {
    guard rest.popFirst() == tag else { return nil }
    var length = 0
    for _ in 0..<4 {
      guard let byte = rest.popFirst() else { return nil }
      length = length << 7 | Int(byte & 0x7f)
      if byte & 0x80 == 0 { break }
    }
    return length
  }
}
