/// ISO base media files (ISO/IEC 14496-12) and QuickTime: a sequence of boxes, each with its size and type.
///
/// Boxes are walked as in FFmpeg's `mov_probe`: unknown ones are skipped by their size, and after an impossible
/// size the walk advances by four bytes.
enum IsoBaseMedia {
  static func verdict(_ head: FilePrefix) -> SniffVerdict? {
    if let picture = pictureBoxes[head.type(at: 4) ?? 0] { return motionPicture(head) ?? picture.verdict }
    var isQuickTime = false
    var isSegment = false
    for box in BoxWalk(head: head) {
      switch box.type {
      case code("ftyp"): return brandVerdict(head.type(at: box.content) ?? code("isom"))
      case code("moov"): return .container(.mov)
      case let type where segmentBoxes.contains(type) && !isQuickTime: isSegment = true
      case let type where quickTimeBoxes.contains(type): isQuickTime = true
      default: break
      }
    }
    if isSegment { return Refusal.segment.verdict }
    return isQuickTime ? .container(.mov) : nil
  }

  /// The signature box of JPEG 2000 also begins moving pictures (ISO/IEC 15444-3), which the brand distinguishes.
  private static func motionPicture(_ head: FilePrefix) -> SniffVerdict? {
    guard head.type(at: 16) == code("ftyp"), let brand = head.type(at: 20), brand >> 16 == code("mj") else {
      return nil
    }
    return refusedBrands[brand]?.verdict
  }

  /// The verdict for a major brand.
  private static func brandVerdict(_ brand: UInt32) -> SniffVerdict {
    if let refusal = refusedBrands[brand] { return refusal.verdict }
    return .container(MediaContainer(majorBrand: brand))
  }

  private static let refusedBrands: [UInt32: Refusal] = {
    var refusals: [UInt32: Refusal] = [
      code("jp2 "): .picture("a JPEG 2000 picture"), code("jpx "): .picture("a JPEG 2000 picture"),
      code("jpm "): .picture("a JPEG 2000 picture"), code("jxl "): .picture("a JPEG XL picture"),
      code("crx "): .picture("a Canon raw picture"), code("avif"): .picture("an AVIF picture"),
      code("avis"): .picture("an AVIF picture sequence"),
      code("mjp2"): .otherContainer("a Motion JPEG 2000 file"),
      code("mj2s"): .otherContainer("a Motion JPEG 2000 file"),
    ]
    // ISO/IEC 23008-12, annexes B to F.
    for brand in [
      "heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs", "mif1", "mif2", "msf1", "miaf", "avci",
      "avcs",
      "vvic", "vvis", "jpeg", "jpgs", "j2ki", "j2is",
    ] {
      refusals[code(brand)] = .picture("a HEIF picture")
    }
    return refusals
  }()

  /// Boxes of formats that begin with a signature box of their own.
  private static let pictureBoxes: [UInt32: Refusal] = [
    code("jP  "): .picture("a JPEG 2000 picture"), code("JXL "): .picture("a JPEG XL picture"),
  ]

  /// The boxes that begin a segment of DASH or HLS; a whole file has `ftyp` or `moov` before them.
  private static let segmentBoxes: Set<UInt32> = [
    code("styp"), code("sidx"), code("moof"), code("emsg"), code("prft"),
  ]

  /// The boxes by which FFmpeg recognizes a QuickTime file without `ftyp`.
  private static let quickTimeBoxes: Set<UInt32> = [
    code("mdat"), code("pnot"), code("udta"), code("ediw"), code("wide"), code("free"), code("junk"),
    code("pict"),
    code("skip"), code("uuid"), code("prfl"),
  ]

  /// A four-character code as the number stored in the file.
  fileprivate static func code(_ text: String) -> UInt32 {
    text.utf8.reduce(0) { $0 << 8 | UInt32($1) }
  }
}

extension MediaContainer {
  /// Determines the container from the major brand of `ftyp`, with its first byte most significant (ftyps.com,
  /// mp4ra.org). An unknown brand is taken for MP4.
  package init(majorBrand: UInt32) {
    let code = IsoBaseMedia.code
    switch majorBrand {
    case code("qt  "): self = .mov
    case code("M4V "), code("M4VH"), code("M4VP"): self = .m4v
    default:
      switch majorBrand >> 8 {
      case code("\u{0}3g2"): self = .threeG2
      case code("\u{0}3gp"), code("\u{0}3gr"), code("\u{0}3gs"), code("\u{0}3ge"), code("\u{0}3gg"):
        self = .threeGP
      default: self = .mp4
      }
    }
  }
}

extension FilePrefix {
  /// The four bytes at `offset` as a number.
  fileprivate func type(at offset: Int) -> UInt32? {
    bigEndian(4, at: offset).map(UInt32.init(truncatingIfNeeded:))
  }
}

/// The boxes that begin within the prefix.
private struct BoxWalk: Sequence, IteratorProtocol {
  struct Box {
    let type: UInt32
    /// The offset of its content.
    let content: Int
  }
  let head: FilePrefix
  private var offset = 0

  init(head: FilePrefix) {
    self.head = head
  }

  mutating func next() -> Box? {
    while let short = head.bigEndian(4, at: offset), let type = head.bigEndian(4, at: offset + 4) {
      var size = short
      var header = 8
      if short == 1, let long = head.bigEndian(8, at: offset + 8) {
        size = long
        header = 16
      } else if short == 0 {
        size = UInt64(head.count - offset)
      }
      guard size >= UInt64(header) else {
        offset += 4
        continue
      }
      let box = Box(type: UInt32(truncatingIfNeeded: type), content: offset + header)
      offset = size > UInt64(head.count) ? head.count : offset + Int(size)
      return box
    }
    return nil
  }
}

/// Matroska and WebM: an EBML header (RFC 8794) whose DocType distinguishes them.
enum Matroska {
  static func verdict(_ head: FilePrefix) -> SniffVerdict? {
    guard head.has([0x1A, 0x45, 0xDF, 0xA3]) else { return nil }
    guard let docType = docType(head) else { return .container(.matroska) }
    switch docType {
    case Array("webm".utf8): return .container(.webm)
    case Array("matroska".utf8): return .container(.matroska)
    default: return Refusal.notMatroska.verdict
    }
  }

  /// The DocType without its padding; nil if the header has no readable one, which FFmpeg treats as Matroska.
  private static func docType(_ head: FilePrefix) -> [UInt8]? {
    guard let length = variableNumber(head, at: 4, keepsMarker: false) else { return nil }
    var offset = 4 + length.size
    let end = min(head.count, offset + Int(clamping: min(length.value, UInt64(head.count))))
    while offset < end, let id = variableNumber(head, at: offset, keepsMarker: true),
      let size = variableNumber(head, at: offset + id.size, keepsMarker: false)
    {
      let content = offset + id.size + size.size
      guard size.value <= UInt64(head.count), content <= head.count else { return nil }
      if id.value == 0x4282 {
        return head.slice(from: content, count: Int(size.value)).elements.prefix { $0 != 0 } + []
      }
      offset = content + Int(size.value)
    }
    return nil
  }

  /// Reads a number of 1 to 8 bytes, whose length is given by the position of its first 1 bit (RFC 8794, section
  /// 4).
  private static func variableNumber(
    _ head: FilePrefix, at offset: Int, keepsMarker: Bool
  ) -> (value: UInt64, size: Int)? {
    guard let first = head.byte(offset) else { return nil }
    let size = first.leadingZeroBitCount + 1
    guard size <= 8, let raw = head.bigEndian(size, at: offset) else { return nil }
    return (keepsMarker ? raw : raw & ((1 << UInt64(7 * size)) - 1), size)
  }
}

/// MXF after a run-in (SMPTE ST 377-1): up to 64 KiB of any data before the key of the header partition pack.
enum MaterialExchange {
  /// The key, without the two bytes that distinguish open from closed and complete from incomplete partitions.
  static let headerPartition: [UInt8] = [
    0x06, 0x0E, 0x2B, 0x34, 0x02, 0x05, 0x01, 0x01, 0x0D, 0x01, 0x02, 0x01, 0x01, 0x02,
  ]

  static func verdict(_ head: FilePrefix) -> SniffVerdict? {
    head.firstOffset(of: headerPartition) == nil ? nil : .container(.mxf)
  }
}
