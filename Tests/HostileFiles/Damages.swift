/// Every sample, cut off, and with one bit flipped, at every tenth of its length.
struct Damages {
  let samples: Samples

  var files: [HostileFile] { samples.clips.flatMap { cuts($0) + flips($0) } }

  /// What a cut file may be follows from the file itself, not from Reel:
  /// - an ISO base media file whose index (`moov`) is incomplete cannot be played: `indexMissing`;
  /// - one whose index is complete can: it is published, and reported as cut off, or refused as `truncated`;
  /// - all others have their header at the front, and can be played as far as they go.
  private func cuts(_ clip: Samples.Clip) -> [HostileFile] {
    (1...9).map { tenth in
      let bytes = Array(clip.bytes.prefix(clip.bytes.count * tenth / 10))
      let answers: Set =
        Self.isISO(clip)
        ? Self.hasIndex(bytes) ? ["ok", "truncated"] : ["indexMissing"] : ["ok", "truncated", "corrupt"]
      return HostileFile("cut", "\(tenth)-\(clip.name)", .bytes(bytes), answers, origin: clip.path)
    }
  }

  /// One bit, anywhere: a fact may change, or the file be damaged. In the first byte it may belong to the container's
  /// magic number, and then the file is not recognized at all.
  private func flips(_ clip: Samples.Clip) -> [HostileFile] {
    (0...9).flatMap { tenth in
      [0, 7].map { bit in
        var bytes = clip.bytes
        bytes[bytes.count * tenth / 10] ^= 1 << UInt8(bit)
        var answers = Answers.greedy.union(["unsupported"])
        if tenth == 0 { answers.formUnion(["notMedia"]) }
        return HostileFile("flipped", "\(tenth)-\(bit)-\(clip.name)", .bytes(bytes), answers)
      }
    }
  }

  private static func isISO(_ clip: Samples.Clip) -> Bool {
    clip.bytes.dropFirst(4).starts(with: "ftyp".utf8)
  }

  private static func hasIndex(_ bytes: [UInt8]) -> Bool {
    ISOBox.read(bytes).contains { $0.type == "moov" }
  }
}
