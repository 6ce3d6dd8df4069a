import CFFmpeg
import ReelCore

extension MediaInfo {
  /// - Parameter movie: nil for other containers than those of the MP4 family.
  mutating func take(_ tags: Tags, _ movie: MovieTracks?) {
    // What is in no encoding that is known here FFmpeg reads in another one.
    let texts = movie?.texts
    title =
      texts?.title ?? (texts?.hasUnreadTitle == true ? nil : tags.first(of: "title"))
      ?? tags.first(of: "com.apple.quicktime.title")
    artist =
      texts?.artist ?? (texts?.hasUnreadArtist == true ? nil : tags.first(of: "artist"))
      ?? tags.first(of: "com.apple.quicktime.artist", "author", "com.apple.quicktime.author")
    createdAt = tags.recordingTime ?? movie?.createdAt ?? tags.creationTime
    contentIdentifier = tags.first(of: "com.apple.quicktime.content.identifier")
  }

  /// The duration, and the bit rate that follows from it where all of the file is there and its media are in it.
  mutating func take(_ found: FoundDuration?) {
    (duration, durationSource) = (found?.seconds, found?.source)
    let isAll = truncated != true && external != true
    let rate = isAll ? found.map { (Double(size) * 8 / $0.seconds).rounded() } : nil
    bitRate = rate.flatMap { $0 >= 1 ? Int64($0) : nil }
    // Pictures that end before the sound may have more in a second than the whole file, but a claim far above that is none. In
    // the MP4 family it is counted.
    if let bitRate, !container.isISO, let stated = video?.bitRate, stated / 2 > bitRate {
      video?.bitRate = nil
    }
  }

  mutating func take(_ disclosures: Disclosures) {
    hasLocation = disclosures.location
    contentCredentials = disclosures.credentials
  }

  mutating func take(_ structure: FileStructure, _ streams: StreamChoice, _ blank: BlankContent?) {
    take(structure, streams)
    if blank?.isMissing == true { truncated = true }
  }

  private mutating func take(_ structure: FileStructure, _ streams: StreamChoice) {
    hasCover = streams.hasCover
    guard let iso = structure.iso else {
      truncated = structure.truncated
      encrypted = structure.matroska == nil ? structure.isEncrypted(streams) : streams.isEncrypted
      return
    }
    // Where the index is compressed (`cmov`), FFmpeg alone reads it.
    external = iso.external ?? (reel_log_met_external_track() ? true : nil)
    fastStart = iso.fastStart
    fragmented = iso.fragments > 0
    encrypted = structure.encrypted
    if external == true {
      // Its index tells of another file.
      truncated = iso.endsBeyondFile == true ? true : nil
    } else {
      let isCut = iso.refersBeyondFile ? true : iso.endsBeyondFile
      truncated = iso.fragments > 0 ? isCut : indexEndsBeyondFile(streams, MovieTracks(structure))
    }
  }

  /// Exact for a file without fragments: its index knows where the last sample ends. Nil when there are samples
  /// and FFmpeg has indexed none of them.
  private func indexEndsBeyondFile(_ streams: StreamChoice, _ tracks: MovieTracks?) -> Bool? {
    let isBeyond = streams.all.contains { stream in
      let furthest = reel_index_summary(stream).furthest_byte
      let own = tracks?.track(of: stream).flatMap { PlainSound.end(of: stream, $0) }
      return furthest > size && own ?? furthest > size
    }
    if isBeyond { return true }
    let hidden = streams.all.contains {
      $0.pointee.nb_frames > 0 && avformat_index_get_entries_count($0) == 0
    }
    return hidden ? nil : false
  }
}
