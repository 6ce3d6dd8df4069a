import CFFmpeg
import Glibc
import ReelCore

/// What a file gives away: its boxes and chunks, its tags, covers and attachments, its tracks of positions, and what its
/// first pictures say of themselves.
struct FileDisclosures {
  private(set) var found: Disclosures
  private let source: BoundedSource

  private static let mostSamples: Int32 = 8
  private static let mostOfSample: Int64 = 4096

  init(
    _ structure: FileStructure, _ streams: StreamChoice, of context: UnsafePointer<AVFormatContext>,
    in source: BoundedSource
  ) {
    self.source = source
    found = structure.iso?.disclosures ?? OtherPlaces(source, structure.container).found
    lookAtTags(of: context, streams)
    for stream in streams.all {
      lookAtAttachment(stream)
      if MoviePlaces.formatsOfPositions.contains(Self.format(stream)) { found.note(.location) }
      if structure.iso != nil { lookAtSamples(of: stream) }
    }
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

  /// The first samples, where the index says that they are: text that is shown, data, and a camera's messages in pictures.
  private mutating func lookAtSamples(of stream: StreamChoice.Stream) {
    switch stream.pointee.codecpar.pointee.codec_type {
    case AVMEDIA_TYPE_SUBTITLE:
      eachSample(of: stream) { if PlaceSearch.findsInText($0) { $1.noteLocationInText() } }
    case AVMEDIA_TYPE_DATA:
      let format = Self.format(stream)
      eachSample(of: stream) {
        if MoviePlaces.tellsPosition(format, sample: $0) { $1.note(.location) }
      }
    case AVMEDIA_TYPE_VIDEO where stream.pointee.codecpar.pointee.codec_id == AV_CODEC_ID_H264:
      eachSample(of: stream, atMost: 1, bytes: Int64(CameraMessage.looked)) {
        $1.note(inPictures: CameraMessage.disclosure(of: $0))
      }
    default: break
    }
  }

  private mutating func eachSample(
    of stream: StreamChoice.Stream, atMost count: Int32 = mostSamples, bytes most: Int64 = mostOfSample,
    _ body: (ArraySlice<UInt8>, inout Disclosures) -> Void
  ) {
    for number in 0..<min(count, avformat_index_get_entries_count(stream)) {
      guard let entry = avformat_index_get_entry(stream, number), entry.pointee.pos >= 0 else { return }
      let size = min(most, Int64(entry.pointee.size))
      body(source.bytes(at: entry.pointee.pos, count: Int(max(0, size)))[...], &found)
    }
  }
}
