import ReelCore
import ReelProbe

/// Where cameras leave their way besides metadata: in media data that belongs to no sample (dashcams put blocks of it between
/// samples), and in text that is shown.
struct HiddenPlaces {
  let file: MovieFile
  let source: BoundedSource
  /// Of the tracks that stay.
  let tracks: [MovieBox]

  /// Media data that nobody reads.
  /// - Parameter kept: what samples and items have.
  func unused(_ kept: [Range<Int64>]) -> [Range<Int64>] {
    let media = file.boxes.filter { $0.type == "mdat" && $0.contents < min($0.end, file.size) }
      .map { $0.contents..<min($0.end, file.size) }
    return SourceRanges.merged(media, without: kept)
  }

  private static let text: Set<FourCharacterCode> = ["text", "sbtl", "subt", "clcp"]
  private static let looked = 8

  /// - Parameter ranges: of the samples of each of ``tracks``.
  /// - Throws: `notMendable` where text that is shown tells where it was recorded.
  func refuseText(_ ranges: [[Range<Int64>]]) throws(MendError) {
    for (track, ranges) in zip(tracks, ranges) where track.handler.map(Self.text.contains) ?? false {
      for range in ranges.prefix(Self.looked) {
        let bytes = source.bytes(
          at: range.lowerBound, count: Int(min(4096, range.upperBound - range.lowerBound)))
        guard !Self.tellsAPlace(bytes) else {
          throw MendError(
            .notMendable,
            "its subtitles tell where it was recorded, and what is shown is not taken out; take them out with another program"
          )
        }
      }
    }
  }

  /// Whether it speaks of a position, and has a number as exact as one.
  static func tellsAPlace(_ bytes: [UInt8]) -> Bool {
    let words = ["GPS", "atitude", "RMC,", "GGA,"].map { Array($0.utf8) }
    guard words.contains(where: { word in bytes.indices.contains { bytes[$0...].starts(with: word) } }) else {
      return false
    }
    var digits: Int?
    for byte in bytes {
      if byte == UInt8(ascii: ".") {
        digits = 0
      } else if (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
        digits = digits.map { $0 + 1 }
        if digits == 4 { return true }
      } else {
        digits = nil
      }
    }
    return false
  }
}
