import CFFmpeg
import ReelCore

/// The facts of an encrypted ISO base media file that FFmpeg does not open. Its tables and codec headers are not
/// encrypted (ISO/IEC 23001-7).
struct EncryptedMovie {
  private let structure: FileStructure
  private let iso: ISOFileMap
  private let tracks: MovieTracks
  private let file: BoundedSource
  private var fragments: MovieFragments? { iso.fragmentTable }

  /// Returns nil if the file is not encrypted, its index is missing or cut off, or it has no track of pictures or
  /// sound.
  init?(_ structure: FileStructure, _ file: BoundedSource) {
    guard let iso = structure.iso, iso.encrypted, iso.movie != nil, !iso.movieIsCut,
      let tracks = MovieTracks(structure), iso.tracks.contains(where: \.isSeenOrHeard)
    else { return nil }
    (self.structure, self.iso, self.tracks, self.file) = (structure, iso, tracks, file)
  }

  var media: MediaInfo {
    var media = MediaInfo(container: structure.container, size: file.size)
    media.encrypted = true
    media.external = iso.external
    media.fastStart = iso.fastStart
    media.fragmented = iso.fragments > 0
    media.truncated = iso.refersBeyondFile ? true : iso.endsBeyondFile
    media.hasCover = false
    media.take(iso.disclosures)
    (media.title, media.artist, media.createdAt) = (iso.texts.title, iso.texts.artist, tracks.createdAt)
    let measured = iso.fragments > 0 ? fragmentSeconds : tracks.measuredSeconds
    let claimed = iso.movieHeader?.seconds ?? iso.fragmentsSeconds
    media.take(
      FoundDuration(measured, iso.fragments > 0 ? .packets : .stream, size: file.size)
        ?? FoundDuration(claimed, .container, size: file.size))
    let videos = iso.tracks.filter { $0.handler == "vide" }
    media.video = (videos.first { $0.header?.isEnabled == true } ?? videos.first).map {
      VideoFacts($0, fragments, streams: videos.count)
    }
    media.audio = iso.tracks.filter { $0.handler == "soun" }.map { AudioFacts($0) }
    return media
  }

  private var fragmentSeconds: Double? {
    iso.tracks.filter(\.isSeenOrHeard).compactMap { track -> Double? in
      guard let id = track.id, let run = fragments?.runs[id], let scale = track.timescale else { return nil }
      return Double(run.ticks) / Double(scale)
    }.max()
  }
}

extension SampleEntry {
  /// The sound that an AC-3 or E-AC-3 record describes; nil for other sound.
  var dolbySound: SoundHeader? {
    guard let configuration else { return nil }
    switch original ?? format {
    case "ac-3": return DolbyFrame.sound(dac3: configuration)
    case "ec-3": return DolbyFrame.sound(dec3: configuration)
    default: return nil
    }
  }
}
