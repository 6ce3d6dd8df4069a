/// Tags of many megabytes, and tags by the thousand.
struct HugeTags {
  let movie: [ISOBox]

  var files: [HostileFile] { inMP4 + inMatroska }

  private static func long(_ bytes: Int) -> [UInt8] {
    repeated(Array("\u{1B}[31m##[error]".utf8), bytes / 14)
  }

  private var inMP4: [HostileFile] {
    [100_000, 1_000_000, 8_000_000].flatMap { size in
      ["©nam", "©ART", "©cmt", "covr"].map { key in
        let data = ISOBox("data", be32(key == "covr" ? 13 : 1) + be32(0) + Self.long(size))
        return file("\(key == "covr" ? "cover" : String(key.dropFirst()))-\(size)", [Self.item(key, data)])
      }
    } + [
      file(
        "10000-tags", (0..<10_000).map { Self.item("©nam", ISOBox("data", be32(1) + be32(0) + be32($0))) }),
      file("data-claims-4-gib", [ISOBox("XXXX", be32(0xFFFF_FFF0) + Array("data".utf8))]),
    ]
  }

  /// An item of the list of tags. In the file, `©` is one byte.
  private static func item(_ key: String, _ data: ISOBox) -> ISOBox {
    ISOBox(key, [], [data])
  }

  private func file(_ name: String, _ items: [ISOBox]) -> HostileFile {
    let list = items.flatMap { item in
      let bytes = item.bytes
      guard item.type.hasPrefix("©") else { return bytes }
      // The text of the type has five bytes in UTF-8, and four in the file.
      let content = item.children.bytes
      return be32(8 + content.count) + [0xA9] + Array(item.type.dropFirst().utf8) + content
    }
    let handler = ISOBox.full("hdlr", be32(0) + Array("mdirappl".utf8) + be64(0) + [0])
    let meta = ISOBox("meta", be32(0) + handler.bytes + be32(8 + list.count) + Array("ilst".utf8) + list)
    let boxes = movie.changing("moov") { moov in
      moov.children.removeAll { $0.type == "udta" }
      moov.children.append(ISOBox("udta", [], [meta]))
    }
    return HostileFile("tags", name + ".mp4", .bytes(boxes.bytes), Answers.greedy)
  }

  private var inMatroska: [HostileFile] {
    [100_000, 1_000_000, 8_000_000].map { size in
      matroska("title-\(size)", EBML.info(title: Self.long(size)))
    } + [
      matroska(
        "10000-tags",
        EBML.info()
          + EBML.element(
            0x1254_C367,
            (0..<10_000).flatMap {
              EBML.element(0x7373, EBML.element(0x67C8, EBML.text(0x45A3, "K\($0)") + EBML.text(0x4487, "v")))
            })),
      matroska(
        "title-claims-1-tib",
        EBML.element(0x1549_A966, claiming: 1 << 40) + EBML.element(0x7BA9, claiming: 1 << 40)),
    ]
  }

  private func matroska(_ name: String, _ info: [UInt8]) -> HostileFile {
    let segment = EBML.tracks(EBML.track(1)) + EBML.cluster + info
    return HostileFile("tags", name + ".mkv", .bytes(EBML.file(segment)), Answers.greedy)
  }
}
