/// The identification header of Opus (RFC 7845, 5.1), which MP4 has with numbers of the other byte order (`dOps`).
struct OpusHeader: Hashable {
  let channels: Int

  /// Nil for what is none. Opus is always decoded to 48 kHz; what the header says of a rate is history.
  init?(_ record: [UInt8]) {
    let mark = Array("OpusHead".utf8)
    guard record.count >= 19, record.starts(with: mark), record[8] & 0xF0 == 0, record[9] > 0 else {
      return nil
    }
    channels = Int(record[9])
  }

  var sound: SoundHeader { SoundHeader(channels: channels, sampleRate: Self.sampleRate) }

  /// Hertz, of all of it (RFC 6716, 2).
  static let sampleRate = 48_000
}
