import CEscapes
import Glibc
import ReelCore
import ReelWire

/// A reader that obeys an order in the file, after its first 32 bytes.
final class HijackedReader: FileReader {
  private var files = 0

  var version: String { "0.0.0" }

  func read(_ descriptor: Int32, _ request: ReadRequest) -> ReadReply {
    files += 1
    let order = Self.order(awaitedIn: descriptor)
    let words = order.split(separator: " ", maxSplits: 1).map(String.init)
    switch words.first ?? "" {
    case "escape": return Self.escape(words.last ?? "")
    case "lie": return Lie.reply(words.last ?? "", request)
    case "fail":
      return .failure(ProbeError(ProbeError.Code(rawValue: words.last ?? "") ?? .corrupt, "as told"))
    case "eat":
      _ = reel_eat_memory()
      return .failure(ProbeError(.memoryLimit, "as much as there is"))
    case "video": return Self.video(request)
    case "crash-when-used" where files > 1: abort()
    case "report": return report(words.last ?? "", request)
    case "twice": sayTwice(descriptor, request)
    case "hoard": Hoard(way: Hoard.Way(rawValue: words.last ?? "") ?? .slot).run(descriptor, request)
    case "fail-when-used" where files > 1: return .failure(ProbeError(.corrupt, "used"))
    default: Sabotage.perform(order)
    }
    return .facts(MediaInfo(container: request.container, size: request.size), .header)
  }

  func read(_ bytes: AskedBytes, _ request: ReadRequest) -> ReadReply {
    files += 1
    var read = [UInt8](repeating: 0, count: 256)
    let count = read.withUnsafeMutableBytes { bytes.read(into: $0, at: 32, expecting: 256) }
    let order = String(decoding: read.prefix(count ?? 0).prefix { $0 != 0 }, as: UTF8.self)
    let words = order.split(separator: " ", maxSplits: 1).map(String.init)
    switch words.first ?? "" {
    case "ask": RangeSabotage.perform(words.last ?? "", bytes, request, bytes.receipt)
    case "lie": return Lie.reply(words.last ?? "", request)
    case "fail":
      return .failure(ProbeError(ProbeError.Code(rawValue: words.last ?? "") ?? .corrupt, "as told"))
    case "video": return Self.video(request)
    case "report": return report(words.last ?? "", request)
    default: Sabotage.perform(order)
    }
    return .facts(MediaInfo(container: request.container, size: request.size), .header)
  }

  func prepareForPictures() {}

  func pictures(_ descriptor: Int32, _ request: PictureRequest) -> (PictureReply, [UInt8]) {
    PictureLie.reply(Self.order(in: descriptor), request)
  }

  func mend(
    _ descriptor: Int32, output: Int32?, _ request: MendRequest, willWrite: () -> Void
  ) -> MendReply {
    MendLie.reply(Self.order(in: descriptor), descriptor, output, request, willWrite)
  }

  /// The order. As long as that is `hold`, waits for the file to contain another.
  private static func order(awaitedIn descriptor: Int32) -> String {
    while true {
      let order = order(in: descriptor)
      guard order.hasPrefix("hold") else { return order }
      Sabotage.pause()
    }
  }

  static func order(in descriptor: Int32) -> String {
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = pread(descriptor, &bytes, bytes.count, 32)
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }

  /// Answers the next question before it is asked.
  private func sayTwice(_ descriptor: Int32, _ request: ReadRequest) {
    close(descriptor)
    // The honest part of the worker receives it after this.
    let receipt = Hoard.receipt(peeking: true)
    var media = MediaInfo(container: request.container, size: request.size)
    media.title = "forged"
    guard let receipt, let frame = try? ReadReply.facts(media, .header).encoded() else { return }
    _ = receipt.with(frame).withUnsafeBytes { reel_speak($0.baseAddress, $0.count, -1) }
  }

  /// Facts of a video that may be published.
  private static func video(_ request: ReadRequest) -> ReadReply {
    var media = MediaInfo(container: request.container, size: request.size)
    var video = VideoFacts()
    (video.width, video.height, video.hasSamples) = (320, 240, true)
    media.video = video
    return .facts(media, .header)
  }

  private static func escape(_ attempt: String) -> ReadReply {
    switch reel_escape(attempt) {
    case 1: .failure(ProbeError(.corrupt, "escaped by \(attempt)"))
    case 0: .failure(ProbeError(.unsupported, "refused \(attempt): error \(errno)"))
    default: .failure(ProbeError(.unreadable, "no such attempt: \(attempt)"))
    }
  }

  private func report(_ what: String, _ request: ReadRequest) -> ReadReply {
    var media = MediaInfo(container: request.container, size: request.size)
    switch what {
    case "descriptors": media.warnings = [MediaWarning(.truncated, "\(reel_open_descriptors())")]
    case "environment":
      media.warnings = [MediaWarning(.truncated, "\(environ[0] == nil ? "empty" : "not empty")")]
    case "process": media.warnings = [MediaWarning(.truncated, "\(getpid())")]
    case "files": media.warnings = [MediaWarning(.truncated, "\(files)")]
    case "memory": media.warnings = [MediaWarning(.truncated, "\(reel_eat_memory())")]
    default: media.warnings = [MediaWarning(.truncated, "?")]
    }
    return .facts(media, .header)
  }
}
