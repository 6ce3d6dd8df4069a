/// The fields in an AVI file's headers (AVIMAINHEADER, AVISTREAMHEADER, BITMAPINFOHEADER, WAVEFORMATEX).
struct AVIFields {
  private var fields: Fields
  private var type = ""

  init(_ bytes: [UInt8]) {
    fields = Fields(bytes)
    walk(12..<bytes.count, "")
  }

  var found: [HeaderField] { fields.found }

  private mutating func walk(_ range: Range<Int>, _ path: String) {
    var at = range.lowerBound
    while at + 8 <= range.upperBound {
      let (id, size) = (fields.text(at, 4), fields.little(at + 4, 4))
      let (start, end) = (at + 8, min(at + 8 + size, range.upperBound))
      switch id {
      case "LIST" where fields.text(start, 4) != "movi":
        walk((start + 4)..<end, path + "/" + fields.text(start, 4))
      case "avih":
        fields.add("avih microseconds", .rate, at: start, 4, .little)
        fields.add("avih frames", .count, at: start + 16, 4, .little)
        fields.add("avih width", .size, at: start + 32, 4, .little)
        fields.add("avih height", .size, at: start + 36, 4, .little)
      case "strh":
        type = fields.text(start, 4)
        let subject = type == "auds" ? HeaderField.Subject.sampleRate : .rate
        fields.add("strh \(type) scale", subject, at: start + 20, 4, .little)
        fields.add("strh \(type) rate", subject, at: start + 24, 4, .little)
        fields.add("strh \(type) length", .duration, at: start + 32, 4, .little)
      case "strf" where type == "vids":
        fields.add("strf width", .size, at: start + 4, 4, .little)
        fields.add("strf height", .size, at: start + 8, 4, .little)
      case "strf" where type == "auds":
        fields.add("strf channels", .channels, at: start + 2, 2, .little)
        fields.add("strf rate", .sampleRate, at: start + 4, 4, .little)
        fields.add("strf bytes", .clock, at: start + 8, 4, .little)
      case "dmlh": fields.add("dmlh frames", .count, at: start, 4, .little)
      default: break
      }
      at = end + size % 2
    }
  }
}

/// The fields in an ASF file's header objects (Advanced Systems Format 1.20, 3).
struct ASFFields {
  private var fields: Fields

  init(_ bytes: [UInt8]) {
    fields = Fields(bytes)
    var at = 30
    while at + 24 <= bytes.count {
      let size = fields.little(at + 16, 8)
      guard size >= 24, at + size <= bytes.count else { return }
      switch bytes[at] {
      case 0xA1:
        fields.add("properties date", .date, at: at + 48, 8, .little)
        fields.add("properties packets", .count, at: at + 56, 8, .little)
        fields.add("properties play duration", .duration, at: at + 64, 8, .little)
        fields.add("properties send duration", .duration, at: at + 72, 8, .little)
        fields.add("properties preroll", .duration, at: at + 80, 8, .little)
      case 0x91 where bytes[at + 24] == 0xC0:  // video
        fields.add("video width", .size, at: at + 78, 4, .little)
        fields.add("video height", .size, at: at + 82, 4, .little)
        fields.add("format width", .size, at: at + 93, 4, .little)
        fields.add("format height", .size, at: at + 97, 4, .little)
      case 0x91 where bytes[at + 24] == 0x40:  // audio
        fields.add("sound channels", .channels, at: at + 80, 2, .little)
        fields.add("sound rate", .sampleRate, at: at + 82, 4, .little)
      default: break
      }
      at += size
    }
  }

  var found: [HeaderField] { fields.found }
}

/// The numbers in an FLV file's `onMetaData`, and the flags of its first tags.
struct FLVFields {
  private var fields: Fields

  init(_ bytes: [UInt8]) {
    fields = Fields(bytes)
    let subjects: [(String, HeaderField.Subject)] = [
      ("duration", .duration), ("width", .size), ("height", .size), ("framerate", .rate),
      ("audiosamplerate", .sampleRate), ("filesize", .index),
    ]
    let head = bytes.prefix(4096)
    for (name, subject) in subjects {
      let key = [UInt8(0), UInt8(name.utf8.count)] + Array(name.utf8) + [0]
      guard let at = head.indices.first(where: { head[$0...].starts(with: key) }) else { continue }
      fields.add("onMetaData \(name)", subject, at: at + key.count, 8, .float)
    }
    var at = 13
    for _ in 0..<8 where at + 12 < bytes.count {
      let size = fields.big(at + 1, 3)
      if bytes[at] == 8 { fields.add("sound flags", .channels, at: at + 11, 1) }
      at += 11 + size + 4
    }
  }

  var found: [HeaderField] { fields.found }
}
