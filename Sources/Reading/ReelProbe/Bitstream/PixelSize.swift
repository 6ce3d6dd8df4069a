/// How large pictures are, as a header or their own bytes have it.
struct PixelSize: Hashable, CustomStringConvertible {
  let width: Int
  let height: Int

  var description: String { "\(width)x\(height)" }
}
