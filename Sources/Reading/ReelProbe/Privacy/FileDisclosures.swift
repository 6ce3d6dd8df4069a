import CFFmpeg
import Glibc
import ReelCore

/// What a file gives away in its boxes and chunks, its tags, covers and attachments, its tracks of positions, the
/// messages in some of its pictures, and the bytes between its samples.
struct FileDisclosures {
  private(set) var found: Disclosures
  private let source: BoundedSource

  init(
    _ structure: FileStructure, _ streams: StreamChoice, _ clock: ContentClock?,
    of context: UnsafePointer<AVFormatContext>, in source: BoundedSource
  ) {
    self.source = source
    found = structure.iso?.disclosures ?? OtherPlaces(source, structure.container, streams).found
    lookAtTags(of: context, streams)
    for stream in streams.all {
      lookAtAttachment(stream)
      if MoviePlaces.formatsOfPositions.contains(Self.format(stream)) { found.note(.location) }
      if structure.iso != nil || structure.container == .avi { lookAtSamples(of: stream, structure.iso) }
    }
    if let clock, let matroska = structure.matroska { lookAtBlocks(matroska.tracks, clock) }
    if let iso = structure.iso { lookBetweenSamples(iso, streams) }
  }

  private static func format(_ stream: StreamChoice.Stream) -> FourCharacterCode {
    FourCharacterCode(codecTag: stream.pointee.codecpar.pointee.codec_tag)
  }

  // MARK: Tags

  private mutating func lookAtTags(of context: UnsafePointer<AVFormatContext>, _ streams: StreamChoice) {
    look(at: context.pointee.metadata)
    for stream in streams.all { look(at: stream.pointee.metadata) }
    for index in 0..<Int(context.pointee.nb_chapters) {
      look(at: context.pointee.chapters[index]?.pointee.metadata)
    }
    for index in 0..<Int(context.pointee.nb_programs) {
      look(at: context.pointee.programs[index]?.pointee.metadata)
    }
  }

  private mutating func look(at tags: OpaquePointer?) {
    var (entry, count) = (av_dict_get(tags, "", nil, AV_DICT_IGNORE_SUFFIX), 0)
    while let tag = entry, !found.location, count < Tags.mostTags {
      if let key = tag.pointee.key, MetadataKey.namesPlace(String(cString: key)) { found.note(.location) }
      if let value = tag.pointee.value, PlaceSearch.findsPosition(in: Self.text(value)) {
        found.note(.location)
      }
      (entry, count) = (av_dict_get(tags, "", tag, AV_DICT_IGNORE_SUFFIX), count + 1)
    }
  }

  private static func text(_ value: UnsafePointer<CChar>) -> ArraySlice<UInt8> {
    UnsafeRawBufferPointer(start: value, count: strnlen(value, Tags.longestValue)).map(\.self)[...]
  }

  // MARK: Covers and attachments

  private mutating func lookAtAttachment(_ stream: StreamChoice.Stream) {
    let parameters = stream.pointee.codecpar.pointee
    if stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC != 0 {
      let picture = stream.pointee.attached_pic
      found.look(intoPicture: Self.bytes(picture.data, Int64(picture.size), most: 16 << 20)[...])
    } else if parameters.codec_type == AVMEDIA_TYPE_ATTACHMENT {
      let bytes = Self.bytes(parameters.extradata, Int64(parameters.extradata_size), most: 1 << 20)
      let type = av_dict_get(stream.pointee.metadata, "mimetype", nil, 0)?.pointee.value.map {
        String(cString: $0)
      }
      if ContentCredentials.isManifest(bytes[...])
        || type.map(ContentCredentials.isManifest(mediaType:)) ?? false
      {
        found.note(.credentials)
      }
      found.look(intoPicture: bytes[...])
    }
  }

  private static func bytes(_ start: UnsafePointer<UInt8>?, _ count: Int64, most: Int64) -> [UInt8] {
    guard let start, count > 0 else { return [] }
    return Array(UnsafeBufferPointer(start: start, count: Int(min(count, most))))
  }

  // MARK: Samples

  /// Looks at some of the samples that an index lists (``SampleSearch``): text that is shown, data, and a camera's
  /// messages in pictures.
  private mutating func lookAtSamples(of stream: StreamChoice.Stream, _ iso: ISOFileMap?) {
    let parameters = stream.pointee.codecpar.pointee
    let kind = parameters.codec_type
    let hasMessages = [AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_MJPEG].contains(parameters.codec_id)
    guard kind != AVMEDIA_TYPE_VIDEO || hasMessages else { return }
    let entries = numbers(of: Int(avformat_index_get_entries_count(stream)), kind) { number in
      avformat_index_get_entry(stream, Int32(number)).map { $0.pointee.flags & AVINDEX_KEYFRAME != 0 }
        ?? false
    }
    // In AVI, the index leads to the header of a chunk.
    let header: Int64 = iso == nil ? 8 : 0
    let samples = entries.compactMap { Self.place(of: Int32($0), in: stream) }
      .map { $0.lowerBound.addingClamped(header)..<$0.upperBound.addingClamped(header) }
    let track = UInt32(truncatingIfNeeded: stream.pointee.id)
    look(at: samples + inFragments(track, kind, iso?.fragmentTable), kind, Self.format(stream))
  }

  /// Returns some of a track's samples in fragments; of video, the beginnings of fragments, which are key frames.
  private func inFragments(
    _ track: UInt32, _ kind: AVMediaType, _ fragments: MovieFragments?
  ) -> [Range<Int64>] {
    if kind == AVMEDIA_TYPE_VIDEO {
      let places = fragments?.places[track] ?? []
      return numbers(of: places.count, kind).map { places[$0] }
    }
    let runs = fragments?.sampleRuns[track] ?? []
    return runs.ranges(of: numbers(of: runs.samples, kind), in: source)
  }

  /// Looks at samples of Matroska, whose index does not list them: at the blocks that were read, by the type of their
  /// track.
  private mutating func lookAtBlocks(_ tracks: [MatroskaTrackList.Number], _ clock: ContentClock) {
    for track in tracks {
      let kind =
        switch track.type {
        case MatroskaTrackList.video: AVMEDIA_TYPE_VIDEO
        case MatroskaTrackList.subtitles: AVMEDIA_TYPE_SUBTITLE
        default: AVMEDIA_TYPE_DATA
        }
      let places = clock.places[track.number] ?? []
      look(at: numbers(of: places.count, kind).map { places[$0] }, kind, nil)
    }
  }

  private func numbers(
    of count: Int, _ kind: AVMediaType, isKey: @escaping (Int) -> Bool = { _ in true }
  ) -> [Int] {
    SampleSearch.numbers(of: count, isFar: source.isFar, isKey: kind == AVMEDIA_TYPE_VIDEO ? isKey : nil)
  }

  private static func place(of number: Int32, in stream: StreamChoice.Stream) -> Range<Int64>? {
    let entry = reel_index_entry(stream, number)
    guard entry.position >= 0, entry.size > 0 else { return nil }
    return entry.position..<entry.position.addingClamped(Int64(entry.size))
  }

  private mutating func look(at samples: [Range<Int64>], _ kind: AVMediaType, _ format: FourCharacterCode?) {
    let most = kind == AVMEDIA_TYPE_VIDEO ? Int64(CameraMessage.looked) : SampleSearch.looked
    for sample in samples {
      let bytes = source.bytes(
        at: sample.lowerBound, count: Int(min(most, sample.upperBound - sample.lowerBound)))[...]
      switch kind {
      case AVMEDIA_TYPE_VIDEO: found.note(inPictures: CameraMessage.disclosure(of: bytes))
      case AVMEDIA_TYPE_SUBTITLE: if PlaceSearch.findsInText(bytes) { found.noteLocationInText() }
      case AVMEDIA_TYPE_DATA: if MoviePlaces.tellsPosition(format, sample: bytes) { found.note(.location) }
      default: return
      }
    }
  }

  // MARK: Between samples

  /// The number of bytes of the first media data that are searched for gaps, the number of index entries by which the
  /// last sample is found, and the number of gaps that are examined. Dashcams put a block between the first pictures,
  /// or after the last.
  private static let searched: Int64 = 4 << 20
  private static let lastEntries: Int32 = 256
  private static let mostGaps = 16
  /// The smallest gap that is examined. A smaller one is padding.
  private static let leastGap = 32

  /// Looks at media data that belongs to no sample.
  private mutating func lookBetweenSamples(_ iso: ISOFileMap, _ streams: StreamChoice) {
    guard iso.fragments == 0, !source.isFar, let first = iso.media.first, let last = iso.media.last else {
      return
    }
    let head = first.lowerBound..<min(first.upperBound, first.lowerBound + Self.searched)
    var (samples, end): ([Range<Int64>], Int64) = ([], last.lowerBound)
    for stream in streams.all {
      let count = avformat_index_get_entries_count(stream)
      let places = (0..<count).lazy.map { Self.place(of: $0, in: stream) }
      samples += places.prefix { $0.map { $0.lowerBound < head.upperBound } ?? true }.compactMap(\.self)
      end = max(end, places.suffix(Int(Self.lastEntries)).compactMap { $0?.upperBound }.max() ?? 0)
    }
    var gaps = SourceRanges.merged([head], without: samples).filter { $0.count >= Self.leastGap }
      .prefix(Self.mostGaps)
    if end < last.upperBound { gaps.append(end..<last.upperBound) }
    for gap in gaps where !found.location {
      let bytes = source.bytes(at: gap.lowerBound, count: min(gap.count, PlaceSearch.looked))
      if PlaceSearch.findsWay(in: bytes[...]) { found.note(.location) }
    }
  }
}
