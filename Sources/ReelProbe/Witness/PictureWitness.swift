import CFFmpeg
import ReelModel

/// What the bitstream itself says about its pictures, found out without decoding one.
struct PictureWitness {
  let width: Int32
  let height: Int32
  let format: AVPixelFormat
  let profile: Int32
  let level: Int32
  let usability: VideoUsability

  /// Writes what the full reading would have found into the stream's parameters.
  func testify(in parameters: UnsafeMutablePointer<AVCodecParameters>) {
    parameters.pointee.format = format.rawValue
    parameters.pointee.profile = profile
    parameters.pointee.level = level
    if let pixel = usability.pixel {
      var reduced = AVRational()
      av_reduce(
        &reduced.num, &reduced.den, Int64(pixel.ratio.numerator), Int64(pixel.ratio.denominator), 255 * 255)
      parameters.pointee.sample_aspect_ratio = reduced
    }
    if let colour = usability.colour {
      parameters.pointee.color_trc = AVColorTransferCharacteristic(rawValue: colour.transfer)
    }
  }
}
