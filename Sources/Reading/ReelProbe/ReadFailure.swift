import CFFmpeg
import ReelCore

/// Turns whatever stopped a reading into an error for people.
struct ReadFailure {
  let container: MediaContainer
  let limits: ReadingLimits

  /// Returns the error for a reading that was ended by the deadline, the disk or a change of the file; nil if it may
  /// continue.
  func stopped(_ stop: BoundedSource.Stop?) -> ProbeError? {
    switch stop {
    case .deadline:
      ProbeError(
        .timeout, "reading it took longer than \(Self.text(limits.seconds)) seconds; it may be damaged")
    case .failed(let code):
      ProbeError(.unreadable, "it could not be read (system error \(code)); check the disk it is on")
    case .shrunk:
      ProbeError(.sourceChanged, "it became shorter while it was read; try again when nothing writes to it")
    case .withheld: ProbeError(.unreadable, "its bytes could not be fetched")
    case .budget, nil: nil
    }
  }

  /// Returns the error for a file that FFmpeg did not open.
  func notOpened(_ code: Int32, _ structure: FileStructure, _ source: BoundedSource) -> ProbeError {
    if let stopped = stopped(source.stop) { return stopped }
    if reel_log_met_stream_limit() {
      return ProbeError(.unsupported, "it has more than \(limits.streams) streams, which no video has")
    }
    if source.stop == .budget {
      return ProbeError(.corrupt, "its header asks for more than \(limits.bytes) bytes to be read")
    }
    if code == reel_error_no_memory {
      return ProbeError(
        .memoryLimit, "reading it takes more memory than is allowed for a file; it is damaged")
    }
    return externalMedia(structure) ?? changedAsText(source) ?? unfinished(structure) ?? corrupt
  }

  /// Returns the error for a file that only points to other files, so that nothing of it can be shown; nil for any
  /// other.
  func externalMedia(_ structure: FileStructure) -> ProbeError? {
    guard structure.iso?.external == true || reel_log_met_external_track() else { return nil }
    return .externalMedia
  }

  /// The error for a file that claims to be of the container but breaks its rules.
  var corrupt: ProbeError {
    let reason = String(cString: reel_log_last_error())
    let said = reason.isEmpty ? "" : " (FFmpeg: \(reason))"
    return ProbeError(
      .corrupt, "it starts like \(container.title) but cannot be read as that\(said); get a complete copy")
  }

  /// Returns the error for an index that is cut off; nil if it is not. FFmpeg would continue with the tracks that it
  /// has read by then.
  func indexIsCut(_ structure: FileStructure, _ source: BoundedSource) -> ProbeError? {
    guard structure.iso?.movieIsCut == true else { return nil }
    return changedAsText(source)
      ?? ProbeError(.indexMissing, "it was cut off within its index (moov); get a complete copy")
  }

  /// Returns the error for a file that a transfer took for text, although it can be opened; nil for any other. That is
  /// asked where bytes are not part of the container, or where the container lets any bytes be between its packets.
  func changed(_ structure: FileStructure, _ clock: ContentClock?, _ source: BoundedSource) -> ProbeError? {
    let isDoubtful =
      structure.iso?.hasRest ?? (container.isMPEG || clock?.isUnclear ?? container.isMatroska)
    return isDoubtful && !source.isFar ? changedAsText(source) : nil
  }

  private func changedAsText(_ source: BoundedSource) -> ProbeError? {
    TextTransfer.hasChanged(source) ? ProbeError(.corrupt, TextTransfer.sentence) : nil
  }

  /// Returns the error for an index that does not fit into memory; nil for any other. If that allocation fails,
  /// FFmpeg continues silently, and the stream looks empty.
  func indexIsTooLarge(_ streams: StreamChoice) -> ProbeError? {
    guard container.isISO else { return nil }
    let claims = streams.all.filter { avformat_index_get_entries_count($0) == 0 }.map(\.pointee.nb_frames)
    guard let largest = claims.max(), largest > 1_000_000 else { return nil }
    return ProbeError(
      .memoryLimit, "its index claims \(largest) samples, more than memory allows; it is damaged")
  }

  /// Returns the error for an ISO base media file that lacks its index or the end of its last box, so that nothing
  /// can be played; nil for any other.
  private func unfinished(_ structure: FileStructure) -> ProbeError? {
    guard let iso = structure.iso else { return nil }
    if iso.movie == nil, iso.fragments > 0 {
      return ProbeError(
        .indexMissing, "it is a segment of a stream without its index (moov); join it with its first segment")
    }
    if iso.movie == nil {
      return ProbeError(
        .indexMissing, "its index (moov) is missing: it was cut off or never finished; get a complete copy")
    }
    // FFmpeg plays media data that is cut off, but not a fragment whose index is cut off.
    if iso.endsBeyondFile == true {
      return ProbeError(.truncated, "it was cut off: its last part is incomplete; get a complete copy")
    }
    return nil
  }

  private static func text(_ seconds: Double) -> String {
    seconds == seconds.rounded() ? String(Int(seconds)) : String(seconds)
  }
}
