import ReelCore
import ReelProbe

/// The places besides metadata where cameras leave their route: media data that belongs to no sample (dashcams put
/// blocks of it between samples), text that is shown, and the pictures themselves.
struct HiddenPlaces {
  let file: MovieFile
  let source: BoundedSource
  /// The tracks that are kept.
  let tracks: [MovieBox]
  /// The samples of each track by its number, if they are in fragments.
  let fragments: [UInt32: SampleTable]

  /// Returns media data that no reader uses.
  /// - Parameter kept: the bytes of samples and items.
  func unused(_ kept: [Range<Int64>]) -> [Range<Int64>] {
    let media = file.boxes.filter { $0.type == "mdat" && $0.contents < min($0.end, file.size) }
      .map { $0.contents..<min($0.end, file.size) }
    return SourceRanges.merged(media, without: kept)
  }

  private static let text: Set<FourCharacterCode> = ["text", "sbtl", "subt", "clcp"]

  /// - Throws: `notMendable` if text that is shown gives away where the video was recorded.
  func refuseText() throws(MendError) {
    for track in tracks where track.handler.map(Self.text.contains) ?? false {
      for sample in try samples(track, upTo: SampleSearch.looked, arePictures: false)
      where PlaceSearch.findsInText(sample[...]) {
        throw MendError(
          .notMendable,
          "its subtitles reveal where it was recorded, and Reel does not remove visible content; remove them with another program"
        )
      }
    }
  }

  /// - Parameter stripping: what is to be removed.
  /// - Throws: `notMendable` if the pictures themselves give it away.
  func refusePictures(_ stripping: Stripping) throws(MendError) {
    for track in tracks where track.handler == "vide" {
      let found = try samples(track, upTo: Int64(CameraMessage.looked), arePictures: true)
        .map { CameraMessage.disclosure(of: $0[...]) }
      guard let disclosure = found.first(where: { $0 == .location }) ?? found.first(where: stripping.takes),
        stripping.takes(disclosure)
      else { continue }
      let what = disclosure == .location ? "where it was recorded" : "what recorded it and how"
      throw MendError(
        .notMendable, "camera data inside its pictures reveals \(what); only re-encoding removes it")
    }
  }

  /// Returns the beginnings of those samples of a track that are examined.
  private func samples(
    _ track: MovieBox, upTo most: Int64, arePictures: Bool
  ) throws(MendError) -> [[UInt8]] {
    var ranges: [Range<Int64>] = []
    if let samples = track.trackID.flatMap({ fragments[$0]?.samples }) {
      ranges = SampleSearch.numbers(of: samples.count, isKey: arePictures ? { samples[$0].isSync } : nil)
        .map { samples[$0].offset..<samples[$0].end }
    } else if let table = track[["mdia", "minf", "stbl"]] {
      let keys = arePictures ? table.keySamples : nil
      let numbers = SampleSearch.numbers(
        of: table.sampleCount, isKey: arePictures ? { keys?.contains($0) ?? true } : nil)
      ranges = try track.ranges(ofSamples: numbers)
    }
    return ranges.map {
      source.bytes(at: $0.lowerBound, count: Int(min(most, $0.upperBound - $0.lowerBound)))
    }
  }
}
