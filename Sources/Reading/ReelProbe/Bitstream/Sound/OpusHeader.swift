/// The identification header of Opus (RFC 7845, 5.1), which MP4 has with numbers of the other byte order (`dOps`).
struct OpusHeader: Hashable {
  /// Nil where its family of arrangements has not so many (5.1.1.1, 5.1.1.2).
  let channels: Int?
  /// As it stands there.
  let stated: Int

  /// Nil for what is none. Opus is always decoded to 48 kHz; what the header says of a rate is history.
  init?(_ record: [UInt8]) {
    let mark = Array("OpusHead".utf8)
    guard record.count >= 19, record.starts(with: mark), record[8] & 0xF0 == 0, record[9] > 0 else {
      return nil
    }
    stated = Int(record[9])
    let most = [0: 2, 1: 8][record[18]] ?? 255
    channels = stated <= most ? stated : nil
  }

  var sound: SoundHeader { SoundHeader(channels: channels, sampleRate: Self.sampleRate) }

  /// Hertz, of all of it (RFC 6716, 2).
  static let sampleRate = 48_000
}
