import CFFmpeg
import ReelCore

/// What the header alone states, recorded before any packet is read, so that the rest can be compared against it.
struct HeaderFacts: Hashable {
  /// Stored width and height of a stream.
  struct Size: Hashable {
    let width: Int32
    let height: Int32
    /// Whether the size is that of the coded blocks, the last of which may be padded, as in MXF (SMPTE ST 377-1,
    /// E.2.3).
    var isOfBlocks = false

    /// Whether pictures of the given size are consistent with this one.
    func allows(width own: Int, height other: Int) -> Bool {
      if (Int(width), Int(height)) == (own, other) { return true }
      // The blocks of both fields together are 32 lines high.
      let widths = [own, own.roundedUp(to: 16)]
      let heights = [other, other.roundedUp(to: 16), other.roundedUp(to: 32)]
      return isOfBlocks && widths.contains(Int(width)) && heights.contains(Int(height))
    }
  }

  /// The duration in seconds; nil if the header does not state one.
  let duration: Double?
  /// The sizes by the index of the stream; only those above 0.
  let sizes: [Int32: Size]
  /// The average frame rates that it states, by the index of the stream.
  let rates: [Int32: Rational]
  /// The codecs that it names, by the index of the stream. FFmpeg may correct its own when packets are read.
  let codecs: [Int32: AVCodecID]
  /// What it states about sound, by the index of the stream.
  let sounds: [Int32: SoundHeader]
  /// The transfer functions that it states, by the index of the stream; none that means "unspecified".
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
      // Of several sample entries, FFmpeg reports the size in the last.
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

  /// Accepts that a message in the pictures of a stream determines the transfer function. If the container states one
  /// of standard range, it is dropped, because the message supplements it. One of high dynamic range stays, because
  /// it contradicts any other.
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
