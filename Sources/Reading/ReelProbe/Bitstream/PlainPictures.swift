import CFFmpeg

/// Pictures whose pixels are stored uncompressed, so that their number determines the size of a packet.
struct PlainPictures: Hashable {
  /// The size of a picture in bytes: from one without padding to one whose sides are padded to 16 pixels.
  let bytes: ClosedRange<Int>

  /// Nil for other codecs, and if the size or the format is not known.
  init?(_ parameters: UnsafeMutablePointer<AVCodecParameters>) {
    let (width, height) = (parameters.pointee.width, parameters.pointee.height)
    guard (1...65_536).contains(width), (1...65_536).contains(height) else { return nil }
    let (least, most): (Int, Int)
    switch parameters.pointee.codec_id {
    case AV_CODEC_ID_RAWVIDEO:
      let stated = AVPixelFormat(rawValue: parameters.pointee.format)
      // The palette's colours are stored elsewhere, and the pixels' indices have fewer bits if the palette is small.
      // QuickTime states the depth of greys as 32 plus their bits.
      let isPalette = stated == AV_PIX_FMT_PAL8
      let format = isPalette ? AV_PIX_FMT_GRAY8 : stated
      let bits = Int(parameters.pointee.bits_per_coded_sample & 31)
      least =
        isPalette && (1...8).contains(bits)
        ? (Int(width) * bits + 7) / 8 * Int(height) : Int(av_image_get_buffer_size(format, width, height, 1))
      most = Int(av_image_get_buffer_size(format, width + 15, height + 15, 16)) + 1024
    case AV_CODEC_ID_V210:
      // Six pixels take 16 bytes (QuickTime, "Uncompressed Y'CbCr video"). Rows are padded to 48 pixels, by some
      // writers to 24.
      least = (Int(width) + 23) / 24 * 64 * Int(height)
      most = (Int(width) + 15 + 47) / 48 * 128 * Int(height + 15)
    default: return nil
    }
    guard least > 0, most >= least else { return nil }
    bytes = least...most
  }
}
