/// Boxes nested deeply, to exhaust a reader's stack.
struct Nesting {
  let movie: [ISOBox]

  var files: [HostileFile] { boxes + elements }

  private static let depths = [20, 200, 2_000, 20_000]

  private var boxes: [HostileFile] {
    Self.depths.flatMap { depth in
      ["moov", "trak", "udta", "meta", "minf", "dinf", "stbl", "wave"].map { type in
        let inner = Self.nested(Array(type.utf8), depth: depth)
        let head = movie.first { $0.type == "ftyp" }?.bytes ?? []
        return HostileFile("nested", "\(type)-\(depth).mp4", .bytes(head + inner), Answers.damaged)
      }
    }
  }

  /// Each box contains the next, so the sizes grow outwards.
  private static func nested(_ type: [UInt8], depth: Int) -> [UInt8] {
    (0..<depth).flatMap { be32(8 * (depth - $0)) + type }
  }

  private var elements: [HostileFile] {
    Self.depths.flatMap { depth in
      [("chapters", 0x1043_A770, 0xB6), ("tags", 0x1254_C367, 0x67C8), ("tracks", 0x1654_AE6B, 0xE2)].map {
        name, outer, inner in
        // Each claims far more than there is; a reader that believes it descends.
        let chain = (0..<depth).flatMap { _ in EBML.element(inner, claiming: 1 << 40) }
        let content = EBML.info() + EBML.tracks(EBML.track(1)) + EBML.cluster
        return HostileFile(
          "nested", "\(name)-\(depth).mkv",
          .bytes(EBML.file(content + EBML.element(outer, claiming: 1 << 41) + chain)), Answers.damaged)
      }
    }
  }
}
