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
        guard !PlaceSearch.findsInText(bytes[...]) else {
          throw MendError(
            .notMendable,
            "its subtitles tell where it was recorded, and what is shown is not taken out; take them out with another program"
          )
        }
      }
    }
  }

  /// - Parameters:
  ///   - ranges: of the samples of each of ``tracks``.
  ///   - stripping: what is to be taken out.
  /// - Throws: `notMendable` where the pictures themselves tell it.
  func refusePictures(_ ranges: [[Range<Int64>]], _ stripping: Stripping) throws(MendError) {
    for (track, ranges) in zip(tracks, ranges) where track.handler == "vide" {
      guard let first = ranges.first else { continue }
      let bytes = source.bytes(
        at: first.lowerBound,
        count: Int(min(Int64(CameraMessage.looked), first.upperBound - first.lowerBound)))
      let disclosure = CameraMessage.disclosure(of: bytes[...])
      guard !stripping.takes(disclosure) else {
        throw MendError(
          .notMendable,
          "its pictures themselves say \(disclosure == .location ? "where it was recorded" : "what recorded it and how") "
            + "(data of an AVCHD camera), which only encoding them anew takes out")
      }
    }
  }
}
