import ReelCore
import ReelWire

/// Checks a worker's pictures against the request.
enum PictureValidation {
  /// Checks a poster.
  /// - Throws: `implausible`.
  static func poster(
    _ facts: PictureReply.PosterFacts, _ bytes: [UInt8], _ options: PosterOptions
  ) throws(PosterError) -> Poster {
    guard max(facts.width, facts.height) <= options.size else { throw lie("it is larger than requested") }
    try check(bytes, width: facts.width, height: facts.height)
    guard isBlurHash(facts.blurHash, isHigh: facts.height > facts.width) else {
      throw lie("its blurHash is not valid")
    }
    guard options.prefersCover || !facts.isCover else { throw lie("it is a cover, but none was requested") }
    return Poster(
      jpeg: bytes, width: facts.width, height: facts.height, blurHash: facts.blurHash,
      isCover: facts.isCover, time: facts.isCover ? nil : facts.time)
  }

  /// Checks that `jpeg` is a plain JPEG of this size.
  /// - Throws: `implausible`.
  static func check(_ jpeg: [UInt8], width: Int, height: Int) throws(PosterError) {
    guard let found = BaselineJPEG(jpeg) else { throw lie("it is not a plain JPEG") }
    guard found.width == width, found.height == height else {
      throw lie("its size differs from the stated one")
    }
  }

  /// Checks and splits the pictures of a video.
  /// - Throws: `implausible`.
  static func frames(
    _ facts: [PictureReply.FrameFacts], _ bytes: [UInt8], count: Int, side: Int
  ) throws(PosterError) -> [VideoFrame] {
    guard (1...count).contains(facts.count) else { throw lie("there are more than requested, or none") }
    var frames: [VideoFrame] = []
    var place = 0
    for fact in facts {
      guard max(fact.width, fact.height) <= side, place + fact.byteCount <= bytes.count,
        let picture = RawPicture(
          width: fact.width, height: fact.height, bytes: Array(bytes[place..<place + fact.byteCount]))
      else { throw lie("they are larger than requested") }
      frames.append(VideoFrame(picture: picture, time: fact.time))
      place += fact.byteCount
    }
    return frames
  }

  /// Whether the text is a hash of 4×3 components, or 3×4, which the first character shows.
  private static func isBlurHash(_ text: String, isHigh: Bool) -> Bool {
    text.utf8.count == 28 && text.utf8.first == UInt8(ascii: isHigh ? "T" : "L")
      && text.utf8.allSatisfy { Poster.blurHashDigits.contains($0) }
  }

  private static func lie(_ what: String) -> PosterError {
    PosterError(
      .implausible,
      "its reader returned an implausible picture (\(what)); the file is damaged or hostile")
  }
}

/// One of several pictures of a video.
package struct VideoFrame: Hashable, Sendable {
  /// The picture, upright, with square pixels.
  package let picture: RawPicture
  /// Seconds from the beginning of the video; nil if unknown.
  package let time: Double?

  /// - Parameters: See the properties.
  package init(picture: RawPicture, time: Double?) {
    self.picture = picture
    self.time = time
  }
}
