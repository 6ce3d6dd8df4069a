/// The size of pictures in pixels, as a header or the pictures themselves state it.
struct PixelSize: Hashable, CustomStringConvertible {
  let width: Int
  let height: Int

  var description: String { "\(width)x\(height)" }
}
