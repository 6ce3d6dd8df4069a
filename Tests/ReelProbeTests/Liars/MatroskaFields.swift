/// The fields in a Matroska file's elements (RFC 9559).
struct MatroskaFields {
  private var fields: Fields

  init(_ bytes: [UInt8]) {
    fields = Fields(bytes)
    walk(0..<bytes.count, "")
  }

  var found: [HeaderField] { fields.found }

  private static let masters: Set<Int> = [
    0x1853_8067, 0x1549_A966, 0x1654_AE6B, 0xAE, 0xE0, 0xE1, 0x1F43_B675, 0x1C53_BB6B, 0xBB, 0xB7, 0x55B0,
  ]
  private static let subjects: [Int: (String, HeaderField.Subject)] = [
    0x2AD7B1: ("TimestampScale", .clock), 0x4489: ("Duration", .duration), 0x4461: ("DateUTC", .date),
    0x23E383: ("DefaultDuration", .rate), 0xB0: ("PixelWidth", .size), 0xBA: ("PixelHeight", .size),
    0x54B0: ("DisplayWidth", .shape), 0x54BA: ("DisplayHeight", .shape), 0x54B2: ("DisplayUnit", .shape),
    0xB5: ("SamplingFrequency", .sampleRate), 0x78B5: ("OutputSamplingFrequency", .sampleRate),
    0x9F: ("Channels", .channels), 0x55BA: ("TransferCharacteristics", .colour),
    0x55BB: ("Primaries", .colour), 0x55B1: ("MatrixCoefficients", .colour), 0xB3: ("CueTime", .index),
    0xF1: ("CueClusterPosition", .index), 0xE7: ("Timestamp", .clock),
  ]

  private mutating func walk(_ range: Range<Int>, _ path: String) {
    var at = range.lowerBound
    while at < range.upperBound, fields.bytes[at] != 0 {
      let idWidth = fields.bytes[at].leadingZeroBitCount + 1
      guard at + idWidth < range.upperBound, fields.bytes[at + idWidth] != 0 else { return }
      let sizeWidth = fields.bytes[at + idWidth].leadingZeroBitCount + 1
      guard at + idWidth + sizeWidth <= range.upperBound else { return }
      let id = fields.big(at, idWidth)
      let coded = fields.big(at + idWidth, sizeWidth) & (1 << (7 * sizeWidth) - 1)
      let (start, end) = (at + idWidth + sizeWidth, min(at + idWidth + sizeWidth + coded, range.upperBound))
      if Self.masters.contains(id) {
        walk(start..<end, "\(path)/\(String(id, radix: 16))")
      } else if let (name, subject) = Self.subjects[id], end - start <= 8 {
        let isFloat = [0x4489, 0xB5, 0x78B5].contains(id)
        fields.add("\(path)/\(name)", subject, at: start, end - start, isFloat ? .float : .big)
      }
      at = end
    }
  }
}
