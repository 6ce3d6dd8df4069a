import CFFmpeg
import ReelCore

extension ContentClock {
  /// Reads the times in a file of this structure. Nil if it has an index of all times, which are then left to FFmpeg,
  /// or if its end is not found.
  ///
  /// - Parameter isWhole: whether every packet is read even in a large file, up to some hundred thousand.
  static func read(
    _ file: some ByteReading, _ structure: FileStructure, isWhole: Bool = false
  ) -> ContentClock? {
    switch structure.container {
    case .matroska, .webm: MatroskaClock.read(file, isWhole: isWhole)
    case .flv: FLVClock.read(file, claimed: structure.metadataDuration, isWhole: isWhole)
    case .mpegTS, .m2ts:
      MPEGClock.read(
        file, stride: TransportPackets.stride(file, structure.container),
        scrambled: structure.encrypted == true)
    case .mpegPS: MPEGClock.read(file, stride: nil)
    case .asf:
      ASFFile.packets(file).flatMap {
        ASFClock.read(file, data: $0.data, packetSize: $0.size, isWhole: isWhole)
      }
    default: nil
    }
  }

  /// Returns the key of one of FFmpeg's streams; nil if it is not known.
  static func key(
    of stream: StreamChoice.Stream, among streams: StreamChoice, in structure: FileStructure
  ) -> Key? {
    let isVideo = streams.videos.contains(stream) || streams.covers.contains(stream)
    switch structure.container {
    case .matroska, .webm: return track(of: stream, isVideo: isVideo, streams, structure)
    case .flv: return isVideo ? 9 : 8
    case .mpegTS, .m2ts: return Int(stream.pointee.id) & 0x1fff
    case .mpegPS:
      let id = Int(stream.pointee.id)
      return id & 0x100 != 0 ? id & 0xff : 0xbd
    case .asf: return Int(stream.pointee.id)
    default: return nil
    }
  }

  /// Returns where the first packet of a Matroska file's stream is, as its codec made it; nil if it is stored in
  /// another form (such as compressed), or shares a block with others.
  func firstPacket(
    of stream: StreamChoice.Stream, among streams: StreamChoice, in structure: FileStructure
  ) -> Range<Int64>? {
    guard structure.container.isMatroska,
      let key = Self.key(of: stream, among: streams, in: structure),
      structure.matroska?.tracks.first(where: { $0.number == key })?.isEncoded == false
    else { return nil }
    return firsts[key]
  }

  /// Returns the number of the stream's track. FFmpeg creates its streams in the order of the tracks.
  private static func track(
    of stream: StreamChoice.Stream, isVideo: Bool, _ streams: StreamChoice, _ structure: FileStructure
  ) -> Key? {
    let tracks = (structure.matroska?.tracks ?? []).filter { $0.type == (isVideo ? 1 : 2) }
    let own = isVideo ? streams.videos : streams.audios
    guard tracks.count == own.count, let place = own.firstIndex(of: stream) else { return nil }
    return tracks[place].number
  }
}
