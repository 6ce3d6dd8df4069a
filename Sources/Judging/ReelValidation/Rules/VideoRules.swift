import ReelCore

/// Rules about the video stream: that there is exactly one, and its codec.
enum VideoRules {
  static let all = [none, coverOnly, empty, multiple, codec, encrypted]

  private static let none = Rule.media(
    "video.none", "there is a video stream",
    "The file holds sound, or data, and no picture. Leave it out, or put the video in its place."
  ) { media in
    guard media.video == nil else { return .passed }
    // A file with a cover instead of a video breaks the next rule.
    guard media.hasCover != true else { return .notApplicable }
    return .broken("it has no video stream", expected: "a video stream", found: "none")
  }

  private static let coverOnly = Rule.media(
    "video.coverOnly", "the picture is more than a cover",
    "What looks like a video stream is the cover picture of a piece of music."
  ) { media in
    guard media.video == nil, media.hasCover == true else { return .passed }
    return .broken("its only picture is a cover", expected: "a video stream", found: "a cover picture")
  }

  private static let empty = Rule.video(
    "video.empty", "the video stream holds samples",
    "The header announces a video stream that has no samples: the first segment of a stream, or a "
      + "recording that ended before it began."
  ) { video in
    .judging(video.hasSamples, unknown: "whether its video stream holds samples") { some in
      some
        ? .passed
        : .broken("its video stream holds no sample", expected: "at least one sample", found: "none")
    }
  }

  private static let multiple = Rule.video(
    "video.multiple", "there is one video stream only",
    "Players show one of several streams, not always the same one. Keep the one that is meant."
  ) { video in
    .judging(video.streams, unknown: "how many video streams it has") { count in
      guard count > 1 else { return .passed }
      return .broken(
        "it has \(count) video streams", expected: "one video stream", found: "\(count)",
        fix: .convert(Conversion()))
    }
  }

  private static let codec = Rule.video(
    "codec.video", "the video codec is one of those allowed",
    .formats("a codec like h264 (FFmpeg's name), or a list of them", ["h264", "hevc", "vp9", "av1"]),
    "Browsers, phones and services play some codecs only. Another codec takes encoding."
  ) { video, allowed, _ in
    .judging(video.codec, unknown: "its video codec") { codec in
      guard !allowed.contains(codec) else { return .passed }
      return .broken(
        "its video is in \(codec)", expected: allowed.joined(separator: ", "), found: codec,
        fix: .convert(Conversion(.videoCodec)))
    }
  }

  private static let encrypted = Rule.media(
    "encryption.present", "the content is not encrypted",
    "Its streams are encrypted, so that only a player with the key shows a picture. Get the file as it was before it "
      + "was encrypted, or decrypt it with its key, for example with `ffmpeg -decryption_key KEY -i FILE -c copy OUT.mp4`. "
      + "A fixture that is meant to be encrypted: set the rule to off for it, under overrides in a policy."
  ) { media in
    guard media.encrypted == true else { return .passed }
    return .broken("it is encrypted", expected: "content in the clear", found: "encrypted streams")
  }
}

/// Rules about the pixels.
enum PixelRules {
  static let all = [format, depth, chroma, hdr]

  private static let fix = Fix.convert(Conversion(.pixels))

  private static let format = Rule.video(
    "pixel.format", "the pixel format is one of those allowed",
    .formats("a pixel format like yuv420p (FFmpeg's name), or a list of them", ["yuv420p", "yuvj420p"]),
    "Hardware decoders take some formats only; yuv420p is the one that plays everywhere."
  ) { video, allowed, _ in
    .judging(video.pixelFormat, unknown: "its pixel format") { format in
      guard !allowed.contains(format) else { return .passed }
      return .broken(
        "its pixel format is \(format)", expected: allowed.joined(separator: ", "), found: format, fix: fix)
    }
  }

  private static let depth = Rule.video(
    "pixel.depth", "the bit depth is not too high", .count("a number of bits like 8", ["8", "10"]),
    "Browsers and older phones play 8 bits a component only."
  ) { video, most, _ in
    .judging(video.bitDepth, unknown: "its bit depth") { bits in
      guard bits > most else { return .passed }
      return .broken(
        "its components have \(bits) bits", expected: "at most \(most) bits", found: "\(bits) bits",
        fix: fix)
    }
  }

  private static let chroma = Rule.video(
    "pixel.chroma", "the colour is sampled in one of the ways allowed",
    .names("a way of sampling like \"4:2:0\", or a list of them", ["4:2:0", "4:2:2"]),
    "Hardware decoders take 4:2:0 only, most of them."
  ) { video, allowed, _ in
    .judging(video.chroma, unknown: "how its colour is sampled") { chroma in
      guard !allowed.contains(chroma) else { return .passed }
      return .broken(
        "its colour is sampled \(chroma)", expected: allowed.joined(separator: ", "), found: chroma,
        fix: fix)
    }
  }

  private static let hdr = Rule.video(
    "hdr.present", "the picture is of standard dynamic range",
    "High dynamic range looks grey on a screen or in a player that does not know it. Tone mapping makes a "
      + "standard picture of it."
  ) { video in
    guard let hdr = video.hdr else { return .passed }
    return .broken(
      "it is high dynamic range: \(hdr.kind.rawValue)", expected: "standard dynamic range",
      found: hdr.kind.rawValue,
      fix: hdr.hasColoursOfItsOwn ? nil : .convert(Conversion { $0.filters = [.toStandardRange] }))
  }
}
