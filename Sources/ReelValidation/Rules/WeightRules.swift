import ReelCore

/// How heavy is it?
enum WeightRules {
  static let all = [leastBitRate, bitRate, bytes]

  private static let leastBitRate = Rule.media(
    "bitrate.min", "the bit rate is not too low", .bitRate,
    "Of the whole file. What is below looks poor when it is encoded anew. A higher bit rate brings nothing back: "
      + "export the video again from its source."
  ) { media, least, _ in
    .judging(media.bitRate, unknown: "its bit rate") { rate in
      guard rate < least else { return .passed }
      return .broken(
        "its bit rate is too low: \(Decimals.bitRate(rate))",
        expected: "at least \(Decimals.bitRate(least))", found: Decimals.bitRate(rate))
    }
  }

  private static let bitRate = Rule.media(
    "bitrate.max", "the bit rate is not too high", .bitRate,
    "Of the whole file. What is above stalls on slow connections, and services encode it anew."
  ) { media, most, _ in
    .judging(media.bitRate, unknown: "its bit rate") { rate in
      guard rate > most else { return .passed }
      return .broken(
        "its bit rate is too high: \(Decimals.bitRate(rate))",
        expected: "at most \(Decimals.bitRate(most))", found: Decimals.bitRate(rate),
        mend: "ffmpeg -i FILE -c:v libx264 -b:v \(most / 10 * 9) -maxrate \(most) -bufsize \(most) OUT.mp4")
    }
  }

  static let bytes = Rule(
    "bytes.max", "the file is not too large", .bytes,
    "Services refuse larger files, and a repository with large fixtures is slow to clone."
  ) { facts, most, _ in
    guard let size = facts.size ?? facts.media?.size else { return .notApplicable }
    guard size > most else { return .passed }
    return .broken(
      "it is too large: \(Decimals.bytes(size))", expected: "at most \(Decimals.bytes(most))",
      found: Decimals.bytes(size), mend: "ffmpeg -i FILE -c:v libx264 -crf 28 -c:a aac OUT.mp4")
  }
}
