import ReelCore

/// Of what kind are the pixels?
enum PixelRules {
  static let all = [format, depth, chroma, hdr]

  private static let mend = "ffmpeg -i FILE -pix_fmt yuv420p -c:a copy OUT.mp4"

  private static let format = Rule.video(
    "pixel.format", "the pixel format is one of those allowed",
    .names("a pixel format like yuv420p (FFmpeg's name), or a list of them", ["yuv420p", "yuvj420p"]),
    "Hardware decoders take some formats only; yuv420p is the one that plays everywhere."
  ) { video, allowed, _ in
    .judging(video.pixelFormat, unknown: "its pixel format") { format in
      guard !allowed.contains(format) else { return .passed }
      return .broken(
        "its pixel format is \(format)", expected: allowed.joined(separator: ", "), found: format, mend: mend)
    }
  }

  private static let depth = Rule.video(
    "pixel.depth", "a component has not too many bits", .count("a number of bits like 8", ["8", "10"]),
    "Browsers and older phones play 8 bits a component only."
  ) { video, most, _ in
    .judging(video.bitDepth, unknown: "its bit depth") { bits in
      guard bits > most else { return .passed }
      return .broken(
        "its components have \(bits) bits", expected: "at most \(most) bits", found: "\(bits) bits",
        mend: mend)
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
        mend: mend)
    }
  }

  private static let hdr = Rule.video(
    "hdr.present", "the picture is of standard dynamic range",
    "High dynamic range looks grey on a screen or in a player that does not know it. Tone mapping makes a "
      + "standard picture of it."
  ) { video in
    guard let hdr = video.hdr else { return .passed }
    let map = "zscale=t=linear:npl=100,tonemap=hable,zscale=p=bt709:t=bt709:m=bt709,format=yuv420p"
    return .broken(
      "it is high dynamic range: \(hdr.kind.rawValue)", expected: "standard dynamic range",
      found: hdr.kind.rawValue, mend: "ffmpeg -i FILE -vf '\(map)' -c:a copy OUT.mp4")
  }
}
