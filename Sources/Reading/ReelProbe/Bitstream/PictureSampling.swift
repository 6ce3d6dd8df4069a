/// How finely the components of pictures are sampled.
struct PictureSampling: Hashable, CustomStringConvertible {
  /// `chroma_format_idc` of H.264 and HEVC: 0 is none, 1 is 4:2:0, 2 is 4:2:2, 3 is 4:4:4.
  let chromaFormat: Int
  /// Bits of one component.
  let bitDepth: Int

  var description: String {
    let names = ["gray", "4:2:0", "4:2:2", "4:4:4"]
    return (names.indices.contains(chromaFormat) ? names[chromaFormat] : "?") + " with \(bitDepth) bits"
  }
}
