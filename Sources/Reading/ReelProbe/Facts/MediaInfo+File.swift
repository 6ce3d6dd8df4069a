import CFFmpeg
import ReelCore

extension MediaInfo {
  /// Sets the title, the artist, the creation date and the content identifier.
  ///
  /// - Parameter movie: nil for containers outside the MP4 family.
  mutating func take(_ tags: Tags, _ movie: MovieTracks?) {
    // FFmpeg decodes a text whose encoding is not known here as if it were in another one, so its version is not
    // used.
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

  /// Sets the duration, and the bit rate that follows from it if the whole file is there and contains its media.
  mutating func take(_ found: FoundDuration?) {
    (duration, durationSource) = (found?.seconds, found?.source)
    let isAll = truncated != true && external != true
    let rate = isAll ? found.map { (Double(size) * 8 / $0.seconds).rounded() } : nil
    bitRate = rate.flatMap { $0 >= 1 ? Int64($0) : nil }
    // Pictures that end before the sound may have a higher bit rate than the whole file, but a claim far above that
    // cannot be right. In the MP4 family the bit rate is not claimed, but counted.
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
    // If the index is compressed (`cmov`), only FFmpeg reads it.
    external = iso.external ?? (reel_log_met_external_track() ? true : nil)
    fastStart = iso.fastStart
    fragmented = iso.fragments > 0
    encrypted = structure.encrypted
    if external == true {
      // Its index describes another file.
      truncated = iso.endsBeyondFile == true ? true : nil
    } else {
      let isCut = iso.refersBeyondFile ? true : iso.endsBeyondFile
      truncated = iso.fragments > 0 ? isCut : indexEndsBeyondFile(streams, MovieTracks(structure))
    }
  }

  /// Whether samples lie beyond the end of the file. Exact for a file without fragments, because its index says where
  /// the last sample ends. Nil if a stream has samples, none of which FFmpeg has indexed.
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
