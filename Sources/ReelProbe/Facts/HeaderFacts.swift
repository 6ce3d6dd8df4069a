import CFFmpeg

/// What the header alone said, before any packet was read: kept to hold the rest against it.
struct HeaderFacts: Hashable {
  /// Stored width and height of a stream.
  struct Size: Hashable {
    let width: Int32
    let height: Int32
  }

  /// Seconds; nil when the header does not tell.
  let duration: Double?
  /// By the index of the stream; only sizes above 0.
  let sizes: [Int32: Size]
  /// The streams whose average frame rate it states.
  let rated: Set<Int32>

  init(_ context: UnsafeMutablePointer<AVFormatContext>) {
    let duration = context.pointee.duration
    self.duration = duration == reel_no_time ? nil : Double(duration) / Double(reel_time_base)
    var sizes: [Int32: Size] = [:]
    var rated: Set<Int32> = []
    for index in 0..<Int(context.pointee.nb_streams) {
      guard let stream = context.pointee.streams[index], let parameters = stream.pointee.codecpar else {
        continue
      }
      if stream.pointee.avg_frame_rate.num > 0 { rated.insert(Int32(index)) }
      guard parameters.pointee.width > 0, parameters.pointee.height > 0
      else { continue }
      sizes[Int32(index)] = Size(width: parameters.pointee.width, height: parameters.pointee.height)
    }
    self.sizes = sizes
    self.rated = rated
  }
}
