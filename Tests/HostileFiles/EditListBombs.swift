/// Edit lists that make a reader go through its index again for each edit.
struct EditListBombs {
  let movie: [ISOBox]

  var files: [HostileFile] {
    claims + lists
  }

  private var claims: [HostileFile] {
    [0xFFFF, 0xFF_FFFF, 0x7FFF_FFFF, 0xFFFF_FFFF].map { count in
      file("claimed-\(count)", entries: be32(count) + Self.edit(duration: 1000, start: 0))
    }
  }

  private var lists: [HostileFile] {
    [1_000, 10_000, 20_000, 200_000].flatMap { count in
      [
        ("all-of-it", Self.edit(duration: 0x7FFF_FFFF, start: 0)),
        ("nothing", Self.edit(duration: 0, start: 0)),
        ("empty-edits", Self.edit(duration: 1, start: -1)),
        ("beyond", Self.edit(duration: 1, start: 0x7FFF_FFFF)),
      ].map { name, edit in
        let table = be32(count) + repeated(edit, count)
        return file("\(count)-\(name)", entries: table, samples: 20_000)
      }
    }
  }

  /// Version 0: duration, start in the media, rate 1 (ISO/IEC 14496-12, 8.6.6).
  private static func edit(duration: Int, start: Int) -> [UInt8] {
    be32(duration) + be32(start) + be16(1) + be16(0)
  }

  private func file(_ name: String, entries: [UInt8], samples: Int? = nil) -> HostileFile {
    var boxes = movie
    if let samples {
      boxes = boxes.withTable(.full("stsz", be32(1) + be32(samples)))
        .withTable(.full("stts", be32(1) + be32(samples) + be32(512)))
        .withTable(.full("stsc", be32(1) + be32(1) + be32(samples) + be32(1)))
        .withTable(.full("stco", be32(1) + be32(48)))
    }
    boxes = boxes.changing("trak") { track in
      track.children.removeAll { $0.type == "edts" }
      track.children.insert(ISOBox("edts", [], [.full("elst", entries)]), at: 1)
    }
    return HostileFile("edits", name + ".mp4", .bytes(boxes.bytes), Answers.slow)
  }
}
