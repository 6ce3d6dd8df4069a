/// A kilobyte or two that claims sample tables of gigabytes.
struct SampleTableBombs {
  /// An honest movie whose index lies at its end.
  let movie: [ISOBox]

  var files: [HostileFile] { claims + runs + constantSizes + fragments }

  private static let counts = [0xFF_FFFF, 0x0FFF_FFFF, 0x7FFF_FFFF, 0xFFFF_FFFF]

  /// Tables whose count is a lie: only a few entries follow.
  private var claims: [HostileFile] {
    Self.tables.flatMap { type, before in
      Self.counts.map { count in
        file("\(type)-\(count)", ISOBox.full(type, before + be32(count) + be32(1) + be32(1) + be32(1)))
      }
    }
  }

  /// The types of the tables, and the bytes before the count.
  private static let tables: [(String, [UInt8])] = [
    ("stsz", be32(0)), ("stz2", be32(8)), ("stts", []), ("ctts", []), ("stsc", []), ("stco", []),
    ("co64", []),
    ("stss", []), ("stps", []), ("stsd", []), ("sbgp", Array("rap ".utf8)), ("sgpd", Array("rap ".utf8)),
    ("sdtp", []), ("subs", []), ("saiz", [0]),
  ]

  /// One entry that stands for very many samples: nothing is missing from the table.
  private var runs: [HostileFile] {
    Self.counts.flatMap { count in
      [
        file("run-stts-\(count)", ISOBox.full("stts", be32(1) + be32(count) + be32(1))),
        file("run-ctts-\(count)", ISOBox.full("ctts", be32(1) + be32(count) + be32(1))),
        file("run-stsc-\(count)", ISOBox.full("stsc", be32(1) + be32(1) + be32(count) + be32(1))),
      ]
    }
  }

  /// Samples that all have one size, so that no table is needed: the index that follows from it takes gigabytes.
  private var constantSizes: [HostileFile] {
    [10_000_000, 60_000_000, 0x0FFF_FFFF, 0x7FFF_FFFF].flatMap { count in
      [1, 0x7FFF_FFFF].map { size in
        let boxes =
          movie
          .withTable(.full("stsz", be32(size) + be32(count)))
          .withTable(.full("stts", be32(1) + be32(count) + be32(1)))
          .withTable(.full("stsc", be32(1) + be32(1) + be32(count) + be32(1)))
          .withTable(.full("stco", be32(1) + be32(48)))
        return HostileFile("tables", "index-\(count)-of-\(size).mp4", .bytes(boxes.bytes), Answers.greedy)
      }
    }
  }

  /// The same in fragments.
  private var fragments: [HostileFile] {
    Self.counts.flatMap { count in
      let run = ISOBox.full("trun", be32(count))
      let header = ISOBox("tfhd", [0, 2, 0, 0] + be32(1))
      let moof = ISOBox("moof", [], [.full("mfhd", be32(1)), ISOBox("traf", [], [header, run])])
      let index = ISOBox.full(
        "sidx", be32(1) + be32(1000) + be32(0) + be32(0) + be16(0) + be16(count & 0xFFFF))
      let random = ISOBox("mfra", [], [ISOBox.full("tfra", be32(1) + be32(0) + be32(count))])
      return [("trun", [moof]), ("sidx", [index, moof]), ("tfra", [random])].map { name, more in
        let head = movie.filter { $0.type != "mdat" }.map(Self.fragmented)
        return HostileFile("tables", "\(name)-\(count).mp4", .bytes((head + more).bytes), Answers.greedy)
      }
    }
  }

  private static func fragmented(_ box: ISOBox) -> ISOBox {
    box.changing("moov") { moov in
      let defaults = ISOBox.full("trex", be32(1) + be32(1) + be32(1) + be32(1) + be32(0))
      moov.children.append(ISOBox("mvex", [], [defaults]))
    }
  }

  private func file(_ name: String, _ table: ISOBox) -> HostileFile {
    HostileFile("tables", name + ".mp4", .bytes(movie.withTable(table).bytes), Answers.greedy)
  }
}
