/// QuickTime's compressed headers (`cmov`): a few bytes that expand to a large index.
struct CompressedHeaders {
  let movie: [ISOBox]

  var files: [HostileFile] {
    [
      file("honest", Self.compressed(index.bytes, zeros: 0)),
      file("much", Self.compressed(index.bytes, zeros: 20_000_000)),
      file("very-much", Self.compressed(index.bytes, zeros: 400_000_000)),
      file("claims-2-gib", Self.box(0x7FFF_FFFF, Deflated.stream(index.bytes, zeros: 258))),
      file("claims-4-gib", Self.box(0xFFFF_FFFF, Deflated.stream(index.bytes, zeros: 258))),
      file("claims-nothing", Self.box(0, Deflated.stream(index.bytes, zeros: 258))),
      file("no-stream", Self.box(1_000_000, Array(repeating: 0xA5, count: 100))),
      file("in-itself", nested(depth: 3)),
      file("deep-in-itself", nested(depth: 12)),
    ]
  }

  private var index: ISOBox { movie.first { $0.type == "moov" } ?? ISOBox("moov") }

  private func nested(depth: Int) -> ISOBox {
    (0..<depth).reduce(index) { inner, _ in
      ISOBox("moov", [], [Self.compressed(inner.bytes, zeros: 0)])
    }
  }

  private static func compressed(_ bytes: [UInt8], zeros: Int) -> ISOBox {
    box(bytes.count + 1 + zeros / 258 * 258, Deflated.stream(bytes, zeros: zeros))
  }

  private static func box(_ claimed: Int, _ stream: [UInt8]) -> ISOBox {
    ISOBox("cmov", [], [ISOBox("dcom", Array("zlib".utf8)), ISOBox("cmvd", be32(claimed) + stream)])
  }

  private func file(_ name: String, _ content: ISOBox) -> HostileFile {
    var boxes = movie.filter { $0.type != "moov" }
    boxes.append(content.type == "moov" ? content : ISOBox("moov", [], [content]))
    return HostileFile("compressed", name + ".mov", .bytes(boxes.bytes), Answers.greedy)
  }
}
