import ReelCore

/// Rules about the size and the shape of the picture as displayed.
enum SizeRules {
  static let all = [unknown, minimum, maximum, odd, aspect, orientation, rotation, pixels]

  private static let unknown = Rule.video(
    "size.unknown", "the size of the picture is known",
    "Without a size no player can make room for the picture."
  ) { video in
    // A stream without samples breaks `video.empty`.
    if video.hasSamples == false { return .notApplicable }
    guard size(video) == nil else { return .passed }
    return .broken("the size of its picture is unknown", expected: "a width and a height", found: "none")
  }

  private static let minimum = Rule.video(
    "size.min", "the picture is not too small", .size,
    "Width and height as shown must both be at least these. A picture that is enlarged gains nothing: get a "
      + "better one."
  ) { video, least, _ in
    .judging(size(video), unknown: "the size of its picture") { size in
      guard size.width < least.width || size.height < least.height else { return .passed }
      return .broken("its picture is too small: \(size)", expected: "at least \(least)", found: "\(size)")
    }
  }

  private static let maximum = Rule.video(
    "size.max", "the picture is not too large", .size,
    "Width and height as shown must both be at most these."
  ) { video, most, _ in
    .judging(size(video), unknown: "the size of its picture") { size in
      guard size.width > most.width || size.height > most.height else { return .passed }
      return .broken(
        "its picture is too large: \(size)", expected: "at most \(most)", found: "\(size)",
        fix: .convert(Conversion { $0.filters = [.fit(width: most.width, height: most.height)] }))
    }
  }

  private static let odd = Rule.video(
    "size.odd", "width and height are even",
    "With 4:2:0 colour an odd side can't be encoded by many encoders and is cropped by others. It is the stored "
      + "size that counts."
  ) { video in
    .judging(stored(video), unknown: "the stored size of its picture") { size in
      guard size.width % 2 == 1 || size.height % 2 == 1 else { return .passed }
      return .broken(
        "a side of its stored picture is odd: \(size)", expected: "even width and height", found: "\(size)",
        fix: .convert(Conversion { $0.filters = [.evenSides] }))
    }
  }

  private static let aspect = Rule.video(
    "size.aspect", "the picture has the right shape", .aspects,
    "Width to height as shown, after rotation and pixel shape. The tolerance is 1 % unless the policy gives "
      + "another, because sides are whole, even numbers."
  ) { video, allowed, tolerance in
    .judging(size(video), unknown: "the size of its picture") { size in
      let value = Double(size.width) / Double(size.height)
      let fits = allowed.contains { tolerance.admits(value, for: $0.value, usually: .relative(0.01)) }
      guard !fits else { return .passed }
      return .broken(
        "its picture has the wrong shape: \(size)",
        expected: allowed.map(\.text).joined(separator: ", "), found: "\(size) (\(Decimals.text(value)):1)")
    }
  }

  private static let orientation = Rule.video(
    "size.orientation", "the picture has the right orientation", .orientations,
    "As shown, after rotation and pixel shape: portrait is taller than it is wide, landscape wider than it is tall. For any shape "
      + "of that kind; size.aspect asks for certain ones."
  ) { video, allowed, _ in
    .judging(size(video), unknown: "the size of its picture") { size in
      let found = Orientation(size)
      guard !allowed.contains(found) else { return .passed }
      return .broken(
        "its picture is \(found.rawValue): \(size)",
        expected: allowed.map(\.rawValue).joined(separator: ", "), found: found.rawValue)
    }
  }

  private static let rotation = Rule.video(
    "rotation.present", "the picture is stored upright",
    "The rotation is only noted in the header, and not every player applies it. Re-encoding rotates the pixels themselves."
  ) { video in
    .judging(video.rotation, unknown: "its rotation") { degrees in
      guard degrees != 0 || video.mirrored == true else { return .passed }
      let found = "\(degrees) degrees clockwise" + (video.mirrored == true ? ", mirrored" : "")
      return .broken(
        "it is stored rotated: \(found)", expected: "0 degrees", found: found,
        fix: .convert(Conversion { $0.encodesVideo = true }))
    }
  }

  private static let pixels = Rule.video(
    "sar.nonSquare", "the pixels are square",
    "Pixels that are wider than high, or the other way round, are shown distorted by players that ignore it."
  ) { video in
    // A file that does not state the shape of its pixels is displayed with square ones.
    guard let ratio = video.sampleAspectRatio, !ratio.isSquare else { return .passed }
    return .broken(
      "its pixels are not square: \(ratio)", expected: "1:1", found: "\(ratio)",
      fix: .convert(Conversion { $0.filters = [.squarePixels] }))
  }

  private static func size(_ video: VideoFacts) -> PictureSize? {
    pair(video.width, video.height)
  }

  private static func stored(_ video: VideoFacts) -> PictureSize? {
    pair(video.storedWidth, video.storedHeight)
  }

  private static func pair(_ width: Int?, _ height: Int?) -> PictureSize? {
    guard let width, let height, width > 0, height > 0 else { return nil }
    return PictureSize(width: width, height: height)
  }
}

/// Rules about the bit rate and the file size.
enum WeightRules {
  static let all = [leastBitRate, bitRate, bytes]

  private static let leastBitRate = Rule.media(
    "bitrate.min", "the bit rate is not too low", .bitRate,
    "Of the whole file. A lower one looks poor once a service re-encodes it. Raising the bit rate brings nothing back: "
      + "export the video again from its source."
  ) { media, least, _ in
    .judging(media.bitRate, unknown: "its bit rate") { rate in
      guard rate < least else { return .passed }
      return .beyond("its bit rate is too low", rate, .least, least, Decimals.bitRate, { "\($0) b/s" })
    }
  }

  private static let bitRate = Rule.media(
    "bitrate.max", "the bit rate is not too high", .bitRate,
    "Of the whole file. A higher one stalls on slow connections, and services re-encode it."
  ) { media, most, _ in
    .judging(media.bitRate, unknown: "its bit rate") { rate in
      guard rate > most else { return .passed }
      return .beyond(
        "its bit rate is too high", rate, .most, most, Decimals.bitRate, { "\($0) b/s" },
        fix: .convert(Conversion { $0.bitRate = most }))
    }
  }

  static let bytes = Rule(
    "bytes.max", "the file is not too large", .bytes,
    "Services refuse larger files, and a repository with large fixtures is slow to clone."
  ) { facts, most, _ in
    guard let size = facts.size ?? facts.media?.size else { return .notApplicable }
    guard size > most else { return .passed }
    return .beyond(
      "it is too large", size, .most, most, Decimals.bytes, { "\($0) B" },
      fix: .convert(Conversion { $0.bytes = most }))
  }
}
