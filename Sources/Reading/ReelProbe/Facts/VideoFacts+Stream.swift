import CFFmpeg
import ReelCore

extension VideoFacts {
  /// The facts in one stream's parameters, as they are after the reading.
  ///
  /// - Parameters:
  ///   - crops: what the container crops from the pictures.
  ///   - structure: what the file's own structure tells.
  ///   - header: what the header stated before any packet was read.
  init(
    _ stream: UnsafeMutablePointer<AVStream>, of context: UnsafeMutablePointer<AVFormatContext>,
    among streams: StreamChoice, crops: PictureCrops, structure: FileStructure, header: HeaderFacts
  ) {
    self.init()
    self.streams = streams.countOfVideos
    hasCover = streams.hasCover
    let parameters = stream.pointee.codecpar.pointee
    codec = Self.codecName(parameters.codec_id)
    // One side alone is no size.
    if let width = Self.side(parameters.width), let height = Self.side(parameters.height) {
      (storedWidth, storedHeight) = (width, height)
    }
    let tracks = MovieTracks(structure)
    // FFmpeg discards the size that an MP4 states for MPEG-4 part 2 and H.263, because a decoder reports it. If no
    // decoder can, the MP4's size counts.
    if storedWidth == nil, structure.encrypted == true || structure.iso?.hasNoSamples == true,
      let entry = tracks?.track(of: stream)?.entry,
      entry.height != nil
    {
      (storedWidth, storedHeight) = (entry.width, entry.width == nil ? nil : entry.height)
    }
    let shape = tracks?.applyShape(to: stream)
    let pixel = av_guess_sample_aspect_ratio(context, stream, nil)
    sampleAspectRatio = Rational(Int(pixel.num), Int(pixel.den)).map(SampleAspectRatio.init)
    let crop = crops.crop(of: stream, among: streams)
    if let crop {
      sampleAspectRatio = crop.pixel
    } else if crops.isSquareForBothEyes(stream, among: streams) {
      sampleAspectRatio = Rational(1, 1).map(SampleAspectRatio.init)
    }
    if let ratio = sampleAspectRatio?.ratio.value, !TrackShape.possible.contains(ratio) {
      let own = parameters.sample_aspect_ratio
      let isMeant = own.den > 0 && TrackShape.possible.contains(av_q2d(own))
      sampleAspectRatio =
        (isMeant ? Rational(Int(own.num), Int(own.den)) : Rational(1, 1)).map(SampleAspectRatio.init)
    }
    takeTurn(of: stream, crop, stretchDown: shape?.stretchDown ?? 1)
    let track = tracks?.track(of: stream)
    if let presentation = track?.presentation {
      takeRates(
        presentation.rate, ordinary: presentation.ordinaryRate, evenStep: presentation.evenStep,
        stated: BitstreamRate(stream)?.rate)
    } else if let run = track?.id.flatMap({ structure.iso?.fragmentTable?.runs[$0] }), run.samples > 0 {
      takeRates(
        run.rate, ordinary: run.ordinaryRate, evenStep: run.evenStep, stated: BitstreamRate(stream)?.rate)
    } else if track?.times == nil || track?.timescale != nil {
      takeRates(of: stream, stepsAreIndexed: structure.stepsAreIndexed)
    }
    let bitRate = stream.pointee.codecpar.pointee.bit_rate
    self.bitRate = bitRate > 0 && Double(bitRate) <= FoundDuration.highestBitRate ? bitRate : nil
    // FFmpeg may report the Dolby Vision record of any sample entry.
    let isOfAnother = track.map { $0.hasSeveralEntries && $0.entry?.hasDolbyVision == false } ?? false
    takePicture(
      parameters, transfer: header.transfers[stream.pointee.index],
      dolbyVisionProfile: isOfAnother ? -1 : reel_dolby_vision_profile(stream))
  }

  private mutating func takeTurn(
    of stream: UnsafeMutablePointer<AVStream>, _ crop: PictureCrop?, stretchDown: Double
  ) {
    let turn = Self.turn(of: stream)
    rotation = turn?.rotation
    mirrored = turn?.mirrored
    let shown = DisplaySize(
      storedWidth: crop?.width ?? storedWidth ?? 0, storedHeight: crop?.height ?? storedHeight ?? 0,
      pixel: sampleAspectRatio, stretchDown: stretchDown, swapped: turn?.swapsSides ?? false)
    width = shown?.width
    height = shown?.height
  }

  /// Sets the rates by the times of what is shown.
  ///
  /// - Parameters:
  ///   - ordinary: samples per second, if all lasted as long as the usual one.
  ///   - evenStep: the seconds that each lasts, if only rounding makes them differ.
  ///   - stated: the rate that the pictures state, which counts if it agrees with `evenStep`.
  mutating func takeRates(
    _ rate: TrackPresentation.Rate?, ordinary: Double?, evenStep: ClosedRange<Double>? = nil,
    stated: Rational? = nil
  ) {
    guard let rate else { return }
    var reduced = AVRational()
    av_reduce(&reduced.num, &reduced.den, rate.samples, rate.ticks, Int64(Int32.max))
    frameRate = Self.rate(reduced)
    guard let found = frameRate, let ordinary else { return }
    if let evenStep {
      variableFrameRate = false
      if let stated, evenStep.contains(1 / stated.value) {
        frameRate = FrameRate(stated)
      } else if !evenStep.contains(1 / found.value) {
        // The last sample may be shown for longer.
        frameRate = Self.rate(av_d2q(2 / (evenStep.lowerBound + evenStep.upperBound), 90_000))
      }
      return
    }
    variableFrameRate = abs(found.value - ordinary) > 0.02 * ordinary
  }

  /// Returns nil for an implausible rate. No camera makes a thousand pictures a second to be shown at that rate, or
  /// one a day.
  static func rate(_ rate: AVRational) -> FrameRate? {
    Rational(Int(rate.num), Int(rate.den)).flatMap {
      (slowest..<Self.beyondSense).contains($0.value) ? FrameRate($0) : nil
    }
  }

  /// The lowest plausible rate, in pictures per second.
  static let slowest = 1 / 86_400.0

  /// The lowest implausible rate, in frames per second. FFmpeg reports this one for times in milliseconds that it
  /// can't interpret.
  static let beyondSense = 1000.0

  private mutating func takeRates(of stream: UnsafeMutablePointer<AVStream>, stepsAreIndexed: Bool) {
    let average = stream.pointee.avg_frame_rate
    frameRate = Self.rate(average)
    if let frameRate, let base = Self.baseRate(of: stream, stepsAreIndexed) {
      variableFrameRate = abs(frameRate.value - base) > 0.02 * base
    }
  }

  /// Returns the length of a side, or nil if it is implausible: no codec stores pictures with longer sides.
  static func side(_ pixels: some BinaryInteger) -> Int? { (1...65_536).contains(pixels) ? Int(pixels) : nil }

  private mutating func takePicture(
    _ parameters: AVCodecParameters, transfer: AVColorTransferCharacteristic?, dolbyVisionProfile: Int32
  ) {
    let layout = PixelLayout(parameters.format)
    pixelFormat = layout?.name
    chroma = layout?.chroma
    bitDepth = layout?.bitDepth
    profile = avcodec_profile_name(parameters.codec_id, parameters.profile).map { String(cString: $0) }
    // What a container states about colors replaces what the bitstream states (ISO/IEC 14496-12, 12.1.5; RFC 9559).
    hdr = HDR(
      parameters, transfer: transfer ?? parameters.color_trc, dolbyVisionProfile: dolbyVisionProfile)
  }

  /// Returns the frames per second, if all came at the usual step. FFmpeg guesses that step from the first packets.
  private static func baseRate(of stream: UnsafeMutablePointer<AVStream>, _ stepsAreIndexed: Bool) -> Double?
  {
    let base = stream.pointee.time_base
    let step = stepsAreIndexed ? reel_index_ordinary_step(stream) : 0
    if step > 0, base.num > 0, base.den > 0 {
      return Double(base.den) / (Double(step) * Double(base.num))
    }
    let guessed = stream.pointee.r_frame_rate
    return Rational(Int(guessed.num), Int(guessed.den)).flatMap { $0.value < beyondSense ? $0.value : nil }
  }

  static func codecName(_ id: AVCodecID) -> String? {
    id == AV_CODEC_ID_NONE || avcodec_descriptor_get(id) == nil ? nil : String(cString: avcodec_get_name(id))
  }

  /// Returns nil if the file's matrix has no angle, and no rotation if there is no matrix.
  private static func turn(of stream: UnsafeMutablePointer<AVStream>) -> DisplayRotation? {
    DisplayMatrix.numbers(of: stream).map { DisplayRotation(matrix: $0) } ?? DisplayRotation.none
  }
}

extension HDR {
  /// Returns nil for standard dynamic range, and if nothing is stated.
  init?(
    _ parameters: AVCodecParameters, transfer: AVColorTransferCharacteristic, dolbyVisionProfile: Int32
  ) {
    let dolbyVisionTags: [FourCharacterCode] = ["dvh1", "dvhe", "dva1", "dvav", "dav1"]
    if dolbyVisionProfile >= 0 {
      self.init(kind: .dolbyVision, profile: Int(dolbyVisionProfile))
    } else if dolbyVisionTags.contains(FourCharacterCode(codecTag: parameters.codec_tag)) {
      self.init(kind: .dolbyVision)
    } else if transfer == AVCOL_TRC_SMPTE2084 {
      self.init(kind: .pq)
    } else if transfer == AVCOL_TRC_ARIB_STD_B67 {
      self.init(kind: .hlg)
    } else {
      return nil
    }
  }
}
