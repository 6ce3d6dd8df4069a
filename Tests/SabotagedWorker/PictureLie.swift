import CEscapes
import Glibc
import ReelCore
import ReelWire

/// What a reader that was taken over says instead of a picture.
enum PictureLie {
  static func reply(_ order: String, _ request: PictureRequest) -> (PictureReply, [UInt8]) {
    let words = order.split(separator: " ", maxSplits: 1).map(String.init)
    if words.first == "video", words.last?.hasPrefix("without-picture") != true {
      // The order may continue with what happens to pictures alone, as in `video hang`.
      Sabotage.perform(words.last ?? "")
      return lie("nothing")
    }
    guard words.first == "lie" else {
      if words.first == "escape", reel_escape(words.last ?? "") == 1 {
        return (.failure(PosterError(.corrupt, "escaped")), [])
      }
      if words.first == "fail" {
        let code = PosterError.Code(rawValue: words.last ?? "") ?? .corrupt
        return (.failure(PosterError(code, "as told")), [])
      }
      Sabotage.perform(order)
      return (.failure(PosterError(.noPicture, "as told")), [])
    }
    return lie(words.last ?? "")
  }

  /// A gray picture of 16×16 that is as it says, except for one lie.
  private static func lie(_ what: String) -> (PictureReply, [UInt8]) {
    var jpeg = SmallJPEG.bytes
    var (width, height, hash) = (16, 16, "L3F~gYof00ayayj[fQj[00fQ?bfQ")
    switch what {
    case "large": (width, height) = (5000, 16)
    case "size": width = 8
    case "hash": hash = "L3F~gYof00ayayj[fQj[00fQ?bf"
    case "alphabet": hash = "L3F~gYof00ayayj[fQj[00fQ?b<>"
    case "text": jpeg = Array("<script>".utf8)
    case "progressive": jpeg[SmallJPEG.frame + 1] = 0xC2
    case "metadata": jpeg.insert(contentsOf: [0xFF, 0xE1, 0, 6, 0x45, 0x78, 0x69, 0x66], at: 2)
    case "comment": jpeg.insert(contentsOf: [0xFF, 0xFE, 0, 4, 0x68, 0x69], at: 2)
    case "tail": jpeg += Array("<?php".utf8)
    case "cut": jpeg.removeLast(2)
    case "frames":
      return (.frames([.init(width: 2, height: 2, time: 0)]), [UInt8](repeating: 0, count: 12))
    case "short": return (facts(width, height, hash, jpeg.count + 100), jpeg)
    case "long": return (facts(width, height, hash, jpeg.count - 100), jpeg)
    case "zero-factor": jpeg[SmallJPEG.quantiser + 5] = 0
    case "wide-factors": jpeg[SmallJPEG.quantiser + 4] = 0x10
    case "two-quantisers":
      let table = jpeg[SmallJPEG.quantiser..<SmallJPEG.codes]
      jpeg.insert(contentsOf: table, at: SmallJPEG.codes)
    case "too-many-codes": jpeg[SmallJPEG.codes + 5] = 3
    case "same-codes": jpeg[SmallJPEG.codes + 22] = 0
    case "no-codes": jpeg[SmallJPEG.codes + 22] = 2
    case "large-symbol": jpeg[SmallJPEG.codes + 21] = 0xFF
    case "thumbnail": jpeg[18] = 1
    case "other-scan": jpeg[SmallJPEG.scan + 5] = 7
    case "half-scan": jpeg[SmallJPEG.scan + 12] = 5
    case "crumbs": return crumbs(facts(width, height, hash, jpeg.count), jpeg)
    case "padding":
      jpeg.insert(contentsOf: [UInt8](repeating: 0, count: 6000), at: jpeg.count - 2)
    case "endless": return (facts(width, height, hash, PictureReply.mostBytes), jpeg)
    default: break
    }
    return (facts(width, height, hash, jpeg.count), jpeg)
  }

  /// Sends the right answer, but the picture in pieces of one byte, which would keep its receiver busy.
  private static func crumbs(_ reply: PictureReply, _ jpeg: [UInt8]) -> (PictureReply, [UInt8]) {
    for frame in [try? reply.encoded()] + jpeg.map({ try? PictureBytes.encoded([$0]) }) {
      _ = frame?.withUnsafeBytes { reel_speak($0.baseAddress, $0.count, -1) }
    }
    _exit(0)
  }

  private static func facts(_ width: Int, _ height: Int, _ hash: String, _ count: Int) -> PictureReply {
    .poster(.init(width: width, height: height, blurHash: hash, isCover: false, time: 1), byteCount: count)
  }
}
