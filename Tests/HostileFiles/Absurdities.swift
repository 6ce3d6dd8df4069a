/// Numbers that no video has. An `ok` is right only with plausible facts, which a test checks.
struct Absurdities {
  let movie: [ISOBox]

  var files: [HostileFile] { durations + matrices + sizes + inMatroska }

  /// The file may be refused; nothing worse may happen.
  private static let answers: Set = [
    "ok", "corrupt", "truncated", "indexMissing", "unsupported", "memoryLimit", "implausible",
  ]

  private func file(_ name: String, _ boxes: [ISOBox]) -> HostileFile {
    HostileFile("absurd", name + ".mp4", .bytes(boxes.bytes), Self.answers)
  }

  private var durations: [HostileFile] {
    [0, 1, 0x7FFF_FFFF, 0xFFFF_FFFF].flatMap { scale in
      [0, 1, 0x7FFF_FFFF, 0xFFFF_FFFF].map { duration in
        file(
          "duration-\(duration)-of-\(scale)",
          movie.changing("mvhd") { $0.patch(be32(scale) + be32(duration), at: 12) }
            .changing("mdhd") { $0.patch(be32(scale) + be32(duration), at: 12) })
      }
    }
  }

  private var matrices: [HostileFile] {
    [0, 1, 0x8000_0000, 0x7FFF_FFFF, 0xFFFF_FFFF].map { value in
      file(
        "matrix-\(value)",
        movie.changing("tkhd") { $0.patch((0..<9).flatMap { _ in be32(value) }, at: 40) })
    }
  }

  private var sizes: [HostileFile] {
    [(0, 0), (1, 1), (0, 240), (65_535, 65_535), (32_768, 1)].flatMap { width, height in
      [
        file(
          "stored-\(width)x\(height)",
          movie.changing("stsd") { $0.patch(be16(width) + be16(height), at: 8 + 32) }),
        file(
          "shown-\(width)x\(height)",
          movie.changing("tkhd") { $0.patch(be32(width << 16) + be32(height << 16), at: 76) }),
        file(
          "stored-and-shown-\(width)x\(height)",
          movie.changing("stsd") { $0.patch(be16(width) + be16(height), at: 8 + 32) }
            .changing("tkhd") { $0.patch(be32(width << 16) + be32(height << 16), at: 76) }),
      ]
    }
  }

  private var inMatroska: [HostileFile] {
    let durations = [Double.nan, .infinity, -.infinity, -1, 0, 1e300, .leastNonzeroMagnitude].map {
      duration in
      matroska("duration-\(duration)", EBML.info(duration) + EBML.tracks(EBML.track(1)))
    }
    let sizes = [0, 1 << 31, 1 << 32, -1, Int.max, Int.min].map { size in
      matroska("size-\(size)", EBML.info() + EBML.tracks(EBML.track(1, width: size, height: size)))
    }
    let shown = [0, 1 << 31, -1, Int.max].map { size in
      matroska(
        "shown-\(size)",
        EBML.info()
          + EBML.tracks(EBML.track(1, more: EBML.number(0x54B0, size) + EBML.number(0x54BA, 1))))
    }
    return durations + sizes + shown
  }

  private func matroska(_ name: String, _ segment: [UInt8]) -> HostileFile {
    HostileFile("absurd", name + ".mkv", .bytes(EBML.file(segment + EBML.cluster)), Self.answers)
  }
}

extension ISOBox {
  /// Overwrites its payload with `bytes`, as far as the payload reaches.
  fileprivate mutating func patch(_ bytes: [UInt8], at offset: Int) {
    for (index, byte) in bytes.enumerated() where payload.indices.contains(offset + index) {
      payload[offset + index] = byte
    }
  }
}
