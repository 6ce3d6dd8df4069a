/// The numbers in the stream headers of an Ogg file, and the timestamps of its first and last pages (RFC 3533, 6).
struct OggFields {
  private var fields: Fields

  init(_ bytes: [UInt8]) {
    fields = Fields(bytes)
    let pages = OggPages.places(bytes)
    for page in pages {
      let start = page.contents
      switch (fields.bytes[safe: start], fields.text(start + 1, 6)) {
      case (0x80, "theora"):
        // The decoder uses the sizes, so these are not changed.
        fields.add("theora rate", .rate, at: start + 22, 4)
        fields.add("theora rate below", .rate, at: start + 26, 4)
      default: break
      }
    }
    for page in pages.suffix(4) { fields.add("page time", .duration, at: page.start + 6, 8, .little) }
  }

  var found: [HeaderField] { fields.found }
}

/// The numbers in an MXF file's descriptors and tracks (SMPTE ST 377-1).
struct MXFFields {
  private var fields: Fields
  private static let tags: [Int: (String, HeaderField.Subject)] = [
    0x0202: ("Duration", .duration), 0x1503: ("-", .index), 0x3002: ("ContainerDuration", .duration),
    0x3202: ("StoredHeight", .size), 0x3203: ("StoredWidth", .size), 0x3208: ("DisplayHeight", .size),
    0x3209: ("DisplayWidth", .size), 0x320E: ("AspectRatio", .shape), 0x3001: ("SampleRate", .rate),
    0x4B01: ("EditRate", .rate), 0x3D07: ("ChannelCount", .channels),
    0x3D03: ("AudioSamplingRate", .sampleRate),
    0x3D01: ("QuantizationBits", .sampleRate), 0x3D0A: ("BlockAlign", .channels),
  ]

  init(_ bytes: [UInt8]) {
    fields = Fields(bytes)
    var at = 0
    while at + 17 <= bytes.count, bytes[at] == 6, bytes[at + 1] == 0x0E {
      var (length, contents) = (Int(bytes[at + 16]), at + 17)
      if length & 0x80 != 0 {
        length = fields.big(contents, Int(bytes[at + 16] & 7))
        contents += Int(bytes[at + 16] & 7)
      }
      if bytes[at + 4] == 2, bytes[at + 5] == 0x53 { takeSet(contents, min(bytes.count, contents + length)) }
      at = contents + length
    }
  }

  var found: [HeaderField] { fields.found }

  private mutating func takeSet(_ start: Int, _ end: Int) {
    var at = start
    while at + 4 <= end {
      let (tag, length) = (fields.big(at, 2), fields.big(at + 2, 2))
      if let (name, subject) = Self.tags[tag] {
        fields.add(name, subject, at: at + 4, min(4, length))
        if length == 8 { fields.add(name + " below", subject, at: at + 8, 4) }
      }
      at += 4 + length
    }
  }
}

/// The first and last timestamps in an MPEG multiplex.
struct MPEGFields {
  private var fields: Fields

  init(_ bytes: [UInt8]) {
    fields = Fields(bytes)
    let starts = bytes.indices.dropLast(20).filter {
      bytes[$0] == 0 && bytes[$0 + 1] == 0 && bytes[$0 + 2] == 1 && (0xC0...0xEF).contains(bytes[$0 + 3])
        && bytes[$0 + 6] >> 6 == 2 && bytes[$0 + 7] >> 6 >= 2 && bytes[$0 + 9] & 1 == 1
        && bytes[$0 + 11] & 1 == 1 && bytes[$0 + 13] & 1 == 1
    }
    // The whole bytes of the 33-bit timestamp between its marker bits; the lower one counts in thirds of a second.
    for start in starts.prefix(2) {
      fields.add("time, high", .clock, at: start + 10, 1)
      fields.add("time, low", .clock, at: start + 12, 1)
    }
    for start in starts.suffix(2) { fields.add("time, high", .clock, at: start + 10, 1) }
  }

  var found: [HeaderField] { fields.found }
}

extension [UInt8] {
  fileprivate subscript(safe place: Int) -> UInt8? { indices.contains(place) ? self[place] : nil }
}
