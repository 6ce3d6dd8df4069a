import CFFmpeg
import ReelCore

/// What the header alone said, before any packet was read: kept to hold the rest against it.
struct HeaderFacts: Hashable {
  /// Stored width and height of a stream.
  struct Size: Hashable {
    let width: Int32
    let height: Int32
    /// Whether it is that of the blocks that the pictures are coded in, of which the last ones may be filled up: as MXF
    /// has it (SMPTE ST 377-1, E.2.3).
    var isOfBlocks = false

    /// Whether pictures may have this size.
    func allows(width own: Int, height other: Int) -> Bool {
      if (Int(width), Int(height)) == (own, other) { return true }
      // The blocks of two fields are 32 lines high together.
      let widths = [own, own.roundedUp(to: 16)]
      let heights = [other, other.roundedUp(to: 16), other.roundedUp(to: 32)]
      return isOfBlocks && widths.contains(Int(width)) && heights.contains(Int(height))
    }
  }

  /// Seconds; nil when the header does not tell.
  let duration: Double?
  /// By the index of the stream; only sizes above 0.
  let sizes: [Int32: Size]
  /// The average frame rates that it states, by the index of the stream.
  let rates: [Int32: Rational]
  /// The codecs that it names, by the index of the stream; reading packets may correct FFmpeg's.
  let codecs: [Int32: AVCodecID]
  /// What it states of sound, by the index of the stream.
  let sounds: [Int32: SoundHeader]
  /// The transfer function that it states, by the index of the stream; only those that are one.
  private(set) var transfers: [Int32: AVColorTransferCharacteristic]

  init(_ context: UnsafeMutablePointer<AVFormatContext>, _ structure: FileStructure) {
    let tracks = MovieTracks(structure)
    let duration = context.pointee.duration
    self.duration = duration == reel_no_time ? nil : Double(duration) / Double(reel_time_base)
    var sizes: [Int32: Size] = [:]
    var rates: [Int32: Rational] = [:]
    var codecs: [Int32: AVCodecID] = [:]
    var (sounds, transfers): ([Int32: SoundHeader], [Int32: AVColorTransferCharacteristic]) = ([:], [:])
    for index in 0..<Int(context.pointee.nb_streams) {
      guard let stream = context.pointee.streams[index], let parameters = stream.pointee.codecpar else {
        continue
      }
      codecs[Int32(index)] = parameters.pointee.codec_id
      let (channels, heard) = (Int(reel_channels(parameters)), Int(parameters.pointee.sample_rate))
      if channels > 0, heard > 0 {
        sounds[Int32(index)] = SoundHeader(channels: channels, sampleRate: heard)
      }
      let rate = stream.pointee.avg_frame_rate
      rates[Int32(index)] = Rational(Int(rate.num), Int(rate.den))
      if let named = tracks?.track(of: stream)?.entry?.transfer {
        transfers[Int32(index)] = AVColorTransferCharacteristic(rawValue: named)
      } else if VideoUsability.Colour.isSaid(parameters.pointee.color_trc.rawValue) {
        transfers[Int32(index)] = parameters.pointee.color_trc
      }
      guard parameters.pointee.width > 0, parameters.pointee.height > 0
      else { continue }
      // Of several sample entries FFmpeg tells the size of the last.
      let entry = tracks?.track(of: stream).flatMap { $0.hasSeveralEntries ? $0.entry : nil }
      sizes[Int32(index)] = Size(
        width: entry?.width.map { Int32(clamping: $0) } ?? parameters.pointee.width,
        height: entry?.height.map { Int32(clamping: $0) } ?? parameters.pointee.height,
        isOfBlocks: structure.mxf != nil)
    }
    self.sizes = sizes
    self.rates = rates
    self.codecs = codecs
    self.sounds = sounds
    self.transfers = transfers
  }

  /// Takes the word of a message in the pictures of a stream for how light is coded. A transfer function of standard range in
  /// the container is what the message adds to; one of high range contradicts another.
  mutating func preferTransfer(of stream: StreamChoice.Stream) {
    let high = [AVCOL_TRC_SMPTE2084, AVCOL_TRC_ARIB_STD_B67]
    if let stated = transfers[stream.pointee.index], !high.contains(stated) {
      transfers[stream.pointee.index] = nil
    }
  }
}

extension Int {
  fileprivate func roundedUp(to block: Int) -> Int { (self + block - 1) / block * block }
}
