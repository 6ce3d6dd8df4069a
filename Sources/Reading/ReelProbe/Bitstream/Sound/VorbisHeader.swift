/// The identification header of Vorbis (Vorbis I, 4.2.2): alone, or as the first of the three headers that Matroska
/// (with Xiph lacing) or FFmpeg (each preceded by its length) keeps together.
struct VorbisHeader: Hashable {
  /// In hertz.
  let sampleRate: Int
  let channels: Int

  /// Nil for anything else.
  init?(_ record: [UInt8]) {
    let mark = [1] + Array("vorbis".utf8)
    guard
      let start = (0..<min(512, max(0, record.count - 15))).first(where: { record[$0...].starts(with: mark) })
    else { return nil }
    channels = Int(record[start + 11])
    sampleRate = record[(start + 12)..<(start + 16)].reversed().reduce(0) { $0 << 8 | Int($1) }
    guard channels > 0, sampleRate > 0 else { return nil }
  }

  var sound: SoundHeader { SoundHeader(channels: channels, sampleRate: sampleRate) }
}
