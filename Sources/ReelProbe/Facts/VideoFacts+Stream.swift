import CFFmpeg
import ReelCore

extension VideoFacts {
  /// The facts that one stream's parameters hold, as they are after the reading.
  ///
  /// - Parameters:
  ///   - crops: what the container cuts off the pictures.
  ///   - stepsAreIndexed: whether the index has the time of every frame.
  init(
    _ stream: UnsafeMutablePointer<AVStream>, of context: UnsafeMutablePointer<AVFormatContext>,
    among streams: StreamChoice, crops: PictureCrops, stepsAreIndexed: Bool
  ) {
    self.init()
    self.streams = streams.videos.count
    hasCover = streams.hasCover
    let parameters = stream.pointee.codecpar.pointee
    codec = Self.codecName(parameters.codec_id)
    // One side alone is no size.
    if let width = Self.side(parameters.width), let height = Self.side(parameters.height) {
      (storedWidth, storedHeight) = (width, height)
    }
    let pixel = av_guess_sample_aspect_ratio(context, stream, nil)
    sampleAspectRatio = Rational(Int(pixel.num), Int(pixel.den)).map(SampleAspectRatio.init)
    let crop = crops.crop(of: stream, among: streams)
    if let crop { sampleAspectRatio = crop.pixel }
    takeTurn(of: stream, crop)
    takeRates(of: stream, stepsAreIndexed: stepsAreIndexed)
    takePicture(parameters, of: stream)
  }

  private mutating func takeTurn(of stream: UnsafeMutablePointer<AVStream>, _ crop: PictureCrop?) {
    let turn = Self.turn(of: stream)
    rotation = turn?.rotation
    mirrored = turn?.mirrored
    let shown = DisplaySize(
      storedWidth: crop?.width ?? storedWidth ?? 0, storedHeight: crop?.height ?? storedHeight ?? 0,
      pixel: sampleAspectRatio, swapped: turn?.swapsSides ?? false)
    width = shown?.width
    height = shown?.height
  }

  private mutating func takeRates(of stream: UnsafeMutablePointer<AVStream>, stepsAreIndexed: Bool) {
    let average = stream.pointee.avg_frame_rate
    frameRate = Rational(Int(average.num), Int(average.den)).map(FrameRate.init)
    if let frameRate, let base = Self.baseRate(of: stream, stepsAreIndexed) {
      variableFrameRate = abs(frameRate.value - base) > 0.02 * base
    }
    let bitRate = stream.pointee.codecpar.pointee.bit_rate
    self.bitRate = bitRate > 0 && Double(bitRate) <= FoundDuration.highestBitRate ? bitRate : nil
  }

  /// No codec stores pictures with longer sides.
  private static func side(_ pixels: Int32) -> Int? { (1...65_536).contains(pixels) ? Int(pixels) : nil }

  private mutating func takePicture(
    _ parameters: AVCodecParameters, of stream: UnsafeMutablePointer<AVStream>
  ) {
    let layout = PixelLayout(parameters.format)
    pixelFormat = layout?.name
    chroma = layout?.chroma
    bitDepth = layout?.bitDepth
    profile = avcodec_profile_name(parameters.codec_id, parameters.profile).map { String(cString: $0) }
    hdr = HDR(parameters, dolbyVisionProfile: reel_dolby_vision_profile(stream))
  }

  /// Frames in a second, if all came at the ordinary step. FFmpeg guesses it from the first packets.
  private static func baseRate(of stream: UnsafeMutablePointer<AVStream>, _ stepsAreIndexed: Bool) -> Double?
  {
    let base = stream.pointee.time_base
    let step = stepsAreIndexed ? reel_index_ordinary_step(stream) : 0
    if step > 0, base.num > 0, base.den > 0 {
      return Double(base.den) / (Double(step) * Double(base.num))
    }
    let guessed = stream.pointee.r_frame_rate
    return Rational(Int(guessed.num), Int(guessed.den))?.value
  }

  static func codecName(_ id: AVCodecID) -> String? {
    id == AV_CODEC_ID_NONE ? nil : String(cString: avcodec_get_name(id))
  }

  /// Nil when the file's matrix has no angle; no turn when it has no matrix.
  private static func turn(of stream: UnsafeMutablePointer<AVStream>) -> DisplayRotation? {
    DisplayMatrix.numbers(of: stream).map { DisplayRotation(matrix: $0) } ?? DisplayRotation.none
  }
}

extension HDR {
  /// Nil for standard dynamic range, and where nothing is said.
  init?(_ parameters: AVCodecParameters, dolbyVisionProfile: Int32) {
    let dolbyVisionTags: [FourCharacterCode] = ["dvh1", "dvhe", "dva1", "dvav", "dav1"]
    if dolbyVisionProfile >= 0 {
      self.init(kind: .dolbyVision, profile: Int(dolbyVisionProfile))
    } else if dolbyVisionTags.contains(FourCharacterCode(codecTag: parameters.codec_tag)) {
      self.init(kind: .dolbyVision)
    } else if parameters.color_trc == AVCOL_TRC_SMPTE2084 {
      self.init(kind: .pq)
    } else if parameters.color_trc == AVCOL_TRC_ARIB_STD_B67 {
      self.init(kind: .hlg)
    } else {
      return nil
    }
  }
}

extension AudioFacts {
  init(_ stream: UnsafeMutablePointer<AVStream>) {
    let parameters = stream.pointee.codecpar
    let channels = reel_channels(parameters)
    let rate = parameters?.pointee.sample_rate ?? 0
    self.init(
      codec: VideoFacts.codecName(parameters?.pointee.codec_id ?? AV_CODEC_ID_NONE),
      channels: (1...1024).contains(channels) ? Int(channels) : nil,
      sampleRate: (1...100_000_000).contains(rate) ? Int(rate) : nil)
  }
}
