/// The fields in the boxes of an MP4 or QuickTime movie (ISO/IEC 14496-12).
struct ISOFields {
  private var fields: Fields
  private var handler = ""

  init(_ bytes: [UInt8]) {
    fields = Fields(bytes)
    walk(0..<bytes.count, "")
  }

  var found: [HeaderField] { fields.found }

  private static let containers: Set<String> = [
    "moov", "trak", "mdia", "minf", "stbl", "edts", "udta", "mvex", "moof", "traf", "dinf",
  ]

  private mutating func walk(_ range: Range<Int>, _ path: String) {
    var at = range.lowerBound
    while at + 8 <= range.upperBound {
      let (size, type) = (fields.big(at, 4), fields.text(at + 4, 4))
      guard size >= 8, at + size <= range.upperBound else { return }
      let name = path + "/" + type
      if Self.containers.contains(type) {
        walk((at + 8)..<(at + size), name)
      } else {
        take(type, name, at + 8, at + size)
      }
      at += size
    }
  }

  private mutating func take(_ type: String, _ name: String, _ at: Int, _ end: Int) {
    let isLong = at < fields.bytes.count && fields.bytes[at] == 1
    let (time, base) = (isLong ? 8 : 4, at + 4)
    switch type {
    case "mvhd", "mdhd":
      fields.add(name + " created", .date, at: base, time)
      fields.add(name + " modified", .date, at: base + time, time)
      fields.add(name + " timescale", .clock, at: base + 2 * time, 4)
      fields.add(name + " duration", .duration, at: base + 2 * time + 4, time)
    case "tkhd":
      fields.add(name + " created", .date, at: base, time)
      fields.add(name + " duration", .duration, at: base + 2 * time + 8, time)
      let matrix = base + 3 * time + 24
      for place in [0, 1, 3, 4] { fields.add("\(name) matrix \(place)", .matrix, at: matrix + 4 * place, 4) }
      fields.add(name + " width", .size, at: matrix + 36, 4)
      fields.add(name + " height", .size, at: matrix + 40, 4)
    case "elst":
      fields.add(name + " count", .edit, at: base, 4)
      fields.add(name + " duration", .edit, at: base + 4, time)
      fields.add(name + " time", .edit, at: base + 4 + time, time)
      fields.add(name + " rate", .edit, at: base + 4 + 2 * time, 2)
    case "mehd": fields.add(name + " duration", .duration, at: base, time)
    case "hdlr": handler = fields.text(at + 8, 4)
    case "stts" where fields.big(base, 4) > 0, "ctts" where fields.big(base, 4) > 0:
      fields.add(name + " entries", .count, at: base, 4)
      fields.add(name + " count", .count, at: base + 4, 4)
      fields.add(name + (type == "stts" ? " step" : " offset"), .rate, at: base + 8, 4)
    case "stsz":
      fields.add(name + " size", .index, at: base, 4)
      fields.add(name + " count", .count, at: base + 4, 4)
    case "stsc" where fields.big(base, 4) > 0:
      fields.add(name + " entries", .index, at: base, 4)
      fields.add(name + " samples", .index, at: base + 8, 4)
    case "stco" where fields.big(base, 4) > 0: fields.add(name + " offset", .index, at: base + 4, 4)
    case "tfhd", "trun", "tfdt", "sidx":
      for place in stride(from: at, to: min(end - 3, at + 24), by: 4) {
        fields.add("\(name) +\(place - at)", type == "tfdt" ? .clock : .index, at: place, 4)
      }
    case "stsd": takeEntry(name, at + 8)
    default: break
    }
  }

  private mutating func takeEntry(_ name: String, _ at: Int) {
    let (size, format) = (fields.big(at, 4), fields.text(at + 4, 4))
    let name = name + "/" + format
    if handler == "vide" {
      fields.add(name + " width", .size, at: at + 32, 2)
      fields.add(name + " height", .size, at: at + 34, 2)
      var next = at + 86
      while next + 8 <= at + size, fields.big(next, 4) >= 8 {
        switch fields.text(next + 4, 4) {
        case "pasp":
          fields.add(name + "/pasp across", .shape, at: next + 8, 4)
          fields.add(name + "/pasp down", .shape, at: next + 12, 4)
        case "colr":
          for place in 0..<3 { fields.add("\(name)/colr \(place)", .colour, at: next + 12 + 2 * place, 2) }
        default: break
        }
        next += fields.big(next, 4)
      }
    } else if handler == "soun" {
      fields.add(name + " channels", .channels, at: at + 24, 2)
      fields.add(name + " rate", .sampleRate, at: at + 32, 4)
    }
  }
}
