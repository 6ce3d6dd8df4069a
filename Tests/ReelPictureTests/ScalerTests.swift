import CFFmpeg
import Testing

@testable import ReelPicture

@Suite struct ScalerTests {
  /// A picture in the memory of a graphics card; no file that Reel reads produces one.
  @Test func aFormatThatItDoesNotTakeIsNoPicture() throws {
    var frame = av_frame_alloc()
    defer { av_frame_free(&frame) }
    let picture = try #require(frame)
    picture.pointee.format = AV_PIX_FMT_VAAPI.rawValue
    (picture.pointee.width, picture.pointee.height) = (64, 64)
    let scaler = Scaler(
      width: 32, height: 32, colours: FrameColours(transfer: .standard, isWide: false), hasAlpha: false)
    #expect(scaler.plain(picture) == nil)
    #expect(scaler.deep(picture) == nil)
  }
}
