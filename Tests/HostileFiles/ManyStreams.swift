/// More streams than any video has.
struct ManyStreams {
  let movie: [ISOBox]

  var files: [HostileFile] { tracksOfMP4 + tracksOfMatroska + programs + serials }

  private var tracksOfMP4: [HostileFile] {
    [200, 1_000, 1_500, 20_000].map { count in
      let boxes = movie.changing("moov") { moov in
        let track = moov.children.first { $0.type == "trak" } ?? ISOBox("trak")
        moov.children += Array(repeating: track, count: count)
      }
      return HostileFile("streams", "\(count).mp4", .bytes(boxes.bytes), Answers.crowded)
    }
  }

  private var tracksOfMatroska: [HostileFile] {
    [200, 1_000, 5_000, 50_000].map { count in
      let tracks = (1...count).flatMap { EBML.track($0) }
      return HostileFile(
        "streams", "\(count).mkv", .bytes(EBML.file(EBML.info() + EBML.tracks(tracks) + EBML.cluster)),
        Answers.crowded.union(["truncated"]))
    }
  }

  /// A transport stream of many programs, each with many streams, and a packet on each.
  private var programs: [HostileFile] {
    [1, 20, 40].map { count in
      var packets = TransportPacket.table(0, TransportPacket.programs(count))
      for program in 0..<count {
        packets += TransportPacket.table(0x20 + program, TransportPacket.streams(of: program, count: 180))
      }
      for pid in 0x100..<min(0x1FFF, 0x100 + 180 * count) { packets += TransportPacket.picture(pid) }
      return HostileFile(
        "streams", "\(count)-programs.ts", .bytes(packets), Answers.crowded.union(["truncated"]))
    }
  }

  /// Ogg pages, each the first one of another stream (RFC 3533, 6).
  private var serials: [HostileFile] {
    [300, 5_000].map { count in
      let pages = (0..<count).flatMap { serial -> [UInt8] in
        Array("OggS".utf8) + [0, 2] + be64(0) + be32(serial) + be32(0) + be32(0) + [1, 16]
          + Array("\u{1}vorbis".utf8) + Array(repeating: 0, count: 9)
      }
      return HostileFile(
        "streams", "\(count).ogv", .bytes(pages), Answers.crowded.union(["truncated", "unsupported"]))
    }
  }
}
