import CEscapes
import Glibc
import ReelCore
import ReelWire

/// What a mender that was taken over writes instead of the mended file.
enum MendLie {
  static func reply(
    _ order: String, _ descriptor: Int32, _ output: Int32?, _ request: MendRequest, _ willWrite: () -> Void
  ) -> MendReply {
    let words = order.prefix { $0 != "\0" }.split(separator: " ", maxSplits: 1).map(String.init)
    guard case .mend(let file, _) = request, let output, words.first == "mend" else {
      return .failure(MendError(.notMendable, "as told"))
    }
    var bytes = [UInt8](repeating: 0, count: Int(file.size))
    _ = pread(descriptor, &bytes, bytes.count, 0)
    var said = Set<Mend>([.faststart])
    var size = file.size
    let order = words.last ?? ""
    // A mender may also announce what it writes only once that is there.
    if order != "at-once" { willWrite() }
    switch order {
    case "honest", "at-once": break
    case "twice": willWrite()
    case "flip": bytes[bytes.count * 3 / 4] ^= 1
    case "short": bytes.removeLast(bytes.count / 4)
    case "more": size += 1
    case "other": said = [.privateTags]
    case "nothing": return .mended([], size: 0)
    case "huge": bytes = [UInt8](repeating: 1, count: bytes.count * 2 + 65 << 20)
    case "source": _ = pwrite(descriptor, [0], 1, 0)
    default:
      if order.hasPrefix("escape "), reel_escape(String(order.dropFirst(7))) == 1 {
        return .failure(MendError(.corrupt, "escaped"))
      }
      Sabotage.perform(order)
      return .failure(MendError(.notMendable, "as told"))
    }
    if order == "short" { size = Int64(bytes.count) }
    _ = pwrite(output, bytes, bytes.count, 0)
    return .mended(said, size: size)
  }
}
