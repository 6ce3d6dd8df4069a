/// Movies that ask for other files to be opened, or whose references are expensive or dangerous to read.
struct OtherFiles {
  let movie: [ISOBox]

  var files: [HostileFile] { named + heavy + referenceMovies + linked }

  private static let answers = Answers.damaged.union(["externalMedia"])
  /// The path of the playlists' secret, which nothing may open.
  private static let target = Array("../playlists/\(Playlists.secret)\0".utf8)

  private func file(_ name: String, _ references: [UInt8], count: Int = 1) -> HostileFile {
    let boxes = movie.changing("minf") { information in
      information.children.removeAll { $0.type == "dinf" }
      information.children.append(ISOBox("dinf", ISOBox.full("dref", be32(count) + references).bytes))
    }
    return HostileFile("elsewhere", name + ".mov", .bytes(boxes.bytes), Self.answers)
  }

  private var named: [HostileFile] {
    ["url ", "urn ", "alis", "rsrc", "imdt", "zzzz"].map { type in
      file("named-\(type.filter { $0 != " " })", ISOBox.full(type, Self.target).bytes)
    }
  }

  private var heavy: [HostileFile] {
    let one = ISOBox.full("url ", []).bytes
    return [
      file("many", Array(repeating: one, count: 70_000).flatMap(\.self), count: 70_000),
      file("claims-many", one, count: 0xFFFF_FFFF),
      file("claims-none", one, count: 0),
      file("empty", []),
      file("cut", Array(one.prefix(9))),
      file("to-the-end", be32(0) + Array("url ".utf8) + be32(0)),
      file("huge", be32(1) + Array("url ".utf8) + be64(Int.max) + be32(0)),
      file("too-small", be32(8) + Array("url ".utf8)),
    ]
  }

  private var referenceMovies: [HostileFile] {
    let other = ISOBox.full("rdrf", Array("url ".utf8) + be32(Self.target.count) + Self.target)
    let inner = (0..<2000).reduce(other) { inner, _ in ISOBox("rmda", [], [inner]) }
    return [("plain", ISOBox("rmda", [], [other])), ("deep", inner)].flatMap { name, inner in
      let index = ISOBox("rmra", [], [inner])
      return [
        HostileFile(
          "elsewhere", "reference-\(name).mov", .bytes(ISOBox("moov", [], [index]).bytes),
          ["externalMedia", "file.refused"]),
        HostileFile(
          "elsewhere", "reference-beside-\(name).mov",
          .bytes(movie.changing("moov") { $0.children.append(index) }.bytes), Self.answers),
      ]
    }
  }

  private var linked: [HostileFile] {
    let other = [UInt8](repeating: 9, count: 16)
    let content = EBML.tracks(EBML.track(1)) + EBML.cluster
    let link = EBML.element(0x6E67, other)
    let chapters = (0..<2000).reduce(link) { inner, _ in EBML.element(0xB6, inner) }
    let many = Array(repeating: EBML.element(0x6E67, []), count: 70_000).flatMap(\.self)
    return [("deep", chapters), ("many", many)].map { name, chapters in
      HostileFile(
        "elsewhere", "chapters-\(name).mkv",
        .bytes(
          EBML.file(
            EBML.info() + EBML.element(0x1043_A770, EBML.element(0x45B9, chapters)) + content)),
        Answers.damaged)
    }
  }
}
