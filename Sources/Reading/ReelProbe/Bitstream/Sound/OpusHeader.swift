/// The identification header of Opus (RFC 7845, 5.1), whose numbers MP4 stores in the other byte order (`dOps`).
struct OpusHeader: Hashable {
  /// Nil if its channel mapping family does not allow that many (5.1.1.1, 5.1.1.2).
  let channels: Int?
  /// The number of channels as it is stated.
  let stated: Int
  /// Whether each packet is of one stream: those of several have other lengths in front (RFC 6716, appendix B).
  let isSingle: Bool

  /// Nil for anything else. Opus is always decoded to 48 kHz; the rate in the header is only that of the original.
  init?(_ record: [UInt8]) {
    let mark = Array("OpusHead".utf8)
    guard record.count >= 19, record.starts(with: mark), record[8] & 0xF0 == 0, record[9] > 0 else {
      return nil
    }
    stated = Int(record[9])
    isSingle = record[18] == 0
    let most = [0: 2, 1: 8][record[18]] ?? 255
    channels = stated <= most ? stated : nil
  }

  var sound: SoundHeader { SoundHeader(channels: channels, sampleRate: Self.sampleRate) }

  /// In hertz, for all Opus sound (RFC 6716, 2).
  static let sampleRate = 48_000
}
