import ReelCore

extension WireWriter {
  mutating func video(_ video: VideoFacts) {
    optional(video.codec, limit: .name)
    optional(video.width)
    optional(video.height)
    optional(video.storedWidth)
    optional(video.storedHeight)
    optional(video.rotation)
    optional(video.mirrored)
    optional(video.sampleAspectRatio) { $0.ratio($1.ratio) }
    optional(video.frameRate) { $0.ratio($1.ratio) }
    optional(video.variableFrameRate)
    optional(video.pixelFormat, limit: .name)
    optional(video.chroma, limit: .name)
    optional(video.bitDepth)
    optional(video.profile, limit: .name)
    optional(video.bitRate)
    optional(video.hdr) { writer, hdr in
      writer.code(hdr.kind)
      writer.optional(hdr.profile)
    }
    optional(video.streams)
    optional(video.hasCover)
    optional(video.hasSamples)
  }

  private mutating func ratio(_ ratio: Rational) {
    number(Int64(ratio.numerator))
    number(Int64(ratio.denominator))
  }
}

extension WireReader {
  mutating func video() throws(WireError) -> VideoFacts {
    var video = VideoFacts()
    video.codec = try optionalText(limit: .name, "video.codec")
    try size(of: &video)
    video.rotation = try optionalInt(in: PlausibleRange.rotation, "video.rotation")
    video.mirrored = try optionalFlag("video.mirrored")
    video.sampleAspectRatio = try optionalRatio("video.sampleAspectRatio").map(SampleAspectRatio.init)
    video.frameRate = try optionalRatio("video.frameRate").map(FrameRate.init)
    video.variableFrameRate = try optionalFlag("video.variableFrameRate")
    try samples(of: &video)
    video.bitRate = try optionalNumber(in: PlausibleRange.bitRate, "video.bitRate")
    video.hdr = try optional("video.hdr") { reader throws(WireError) in try reader.hdr() }
    video.streams = try optionalInt(in: PlausibleRange.streams, "video.streams")
    video.hasCover = try optionalFlag("video.hasCover")
    video.hasSamples = try optionalFlag("video.hasSamples")
    return video
  }

  private mutating func size(of video: inout VideoFacts) throws(WireError) {
    video.width = try optionalInt(in: PlausibleRange.shown, "video.width")
    video.height = try optionalInt(in: PlausibleRange.shown, "video.height")
    video.storedWidth = try optionalInt(in: PlausibleRange.stored, "video.storedWidth")
    video.storedHeight = try optionalInt(in: PlausibleRange.stored, "video.storedHeight")
    guard (video.width == nil) == (video.height == nil) else { throw .field("video.width") }
    guard (video.storedWidth == nil) == (video.storedHeight == nil) else { throw .field("video.storedWidth") }
  }

  private mutating func samples(of video: inout VideoFacts) throws(WireError) {
    video.pixelFormat = try optionalText(limit: .name, "video.pixelFormat")
    video.chroma = try optionalText(limit: .name, "video.chroma")
    video.bitDepth = try optionalInt(in: PlausibleRange.bitDepth, "video.bitDepth")
    video.profile = try optionalText(limit: .name, "video.profile")
  }

  private mutating func hdr() throws(WireError) -> HDR {
    HDR(
      kind: try code(HDR.Kind.self, "video.hdr"),
      profile: try optionalInt(in: PlausibleRange.profile, "video.hdr"))
  }

  private mutating func optionalRatio(_ field: String) throws(WireError) -> Rational? {
    try optional(field) { reader throws(WireError) in
      let numerator = Int(try reader.number(in: PlausibleRange.ratioPart, field))
      let denominator = Int(try reader.number(in: PlausibleRange.ratioPart, field))
      guard let ratio = Rational(numerator, denominator) else { throw .field(field) }
      return ratio
    }
  }
}

extension WireReader {
  mutating func optionalFlag(_ field: String) throws(WireError) -> Bool? {
    try optional(field) { reader throws(WireError) in try reader.flag(field) }
  }

  mutating func optionalText(limit: WireLimit, _ field: String) throws(WireError) -> String? {
    try optional(field) { reader throws(WireError) in try reader.text(limit: limit, field) }
  }

  mutating func optionalNumber(
    in range: ClosedRange<Int64>, _ field: String
  ) throws(WireError) -> Int64? {
    try optional(field) { reader throws(WireError) in try reader.number(in: range, field) }
  }

  mutating func optionalInt(in range: ClosedRange<Int64>, _ field: String) throws(WireError) -> Int? {
    try optionalNumber(in: range, field).map { Int($0) }
  }
}
