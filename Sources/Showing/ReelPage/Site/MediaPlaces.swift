import Glibc
import ReelCore
import ReelCrypto

/// Where the page finds a post's video and poster: beside it where they are in the site, else where the post says.
struct MediaPlaces: Sendable {
  let folder: SiteFolder
  let placement: MediaPlacement
  /// Whether posts say what their files were called.
  private let keepsNames: Bool
  /// `file:///…/`, percent-encoded as the stores write it.
  private let base: String
  static let name = "media"

  init(_ folder: SiteFolder, _ index: SiteIndex) {
    self.folder = folder
    placement = index.media
    keepsNames = index.names ?? false
    base = folder.path.fileURL + "/"
  }

  /// A post as the site shows it.
  struct Placed: Sendable {
    var post: Post
    /// Its video should be in the site, and is not to be found.
    var isMissing = false
  }

  /// Brings the media of `post` into the site where that was asked for. Blocks.
  func place(_ post: Post) throws(SiteError) -> Placed {
    var placed = Placed(post: post)
    // What a person called a file is not for the public, unless they say so.
    if !keepsNames { placed.post.sourceName = nil }
    let video = Object(key: post.video, size: post.size, proof: post.digest.map { .digest($0) })
    if let url = try place(post.videoURL, as: video) {
      placed.post.videoURL = url
    } else {
      placed.isMissing = true
    }
    // A poster that is gone is no reason to look again: the page has the blurHash.
    if let url = post.posterURL, let key = post.poster {
      let isBesideVideo = Self.folder(of: url) == Self.folder(of: post.videoURL)
      let poster = Object(key: key, size: nil, proof: isBesideVideo ? .isJPEG : nil)
      placed.post.posterURL = try place(url, as: poster)
    }
    return placed
  }

  /// Whether an object with this URL is in the site itself: what is there is the store's.
  func isInSite(_ url: String) -> Bool { url.hasPrefix(base) }

  private static func folder(of url: String) -> Substring? { url.lastIndex(of: "/").map { url[..<$0] } }

  /// What a file must be to be shown as a post's video or poster: a catalog's row could name any file of this machine.
  private struct Object {
    let key: ObjectKey
    /// Bytes; nil when the post does not say.
    let size: Int64?
    /// Nil when nothing can show that a file is this object.
    let proof: Proof?
  }

  private enum Proof {
    case digest(ContentDigest)
    /// All that is known of a poster: posts do not record its digest.
    case isJPEG
  }

  /// The URL of an object for the page; nil when it should be in the site, and is not to be found.
  private func place(_ url: String, as object: Object) throws(SiteError) -> String? {
    if url.hasPrefix(base) { return String(url.dropFirst(base.count)) }
    guard placement != .inPlace, let path = Self.path(of: url) else { return url }
    let name = "\(Self.name)/\(object.key.rawValue)"
    return try bring(path, to: name, object) ? name : nil
  }

  /// False when the file at `path` is not there, can't be read, or is not the object.
  private func bring(_ path: String, to name: String, _ object: Object) throws(SiteError) -> Bool {
    if folder.holdsFile(name, size: object.size) { return true }
    guard let proof = object.proof, path.hasSuffix("/" + object.key.rawValue),
      let source = try Self.open(path)
    else { return false }
    let found = FoundObject(file: source, size: object.size, proof: proof)
    switch placement {
    case .link:
      do throws(SystemError) {
        guard try found.isProven() else { return false }
      } catch {
        return false
      }
      return try folder.link(path, to: source, as: name)
    case .copy, .inPlace:
      return try folder.replace(name, isDurable: false) { copy throws(SystemError) in
        try found.isProven { chunk throws(SystemError) in try copy.write(all: chunk) }
      }
    }
  }

  /// A file that may be an object.
  private struct FoundObject {
    let file: Descriptor
    let size: Int64?
    let proof: Proof

    /// Reads it to its end, or no further than it can be the object. What can't be read is not proven.
    /// - Throws: what `use` throws, which gets all bytes in their order.
    func isProven(
      use: (ArraySlice<UInt8>) throws(SystemError) -> Void = { _ in }
    ) throws(SystemError) -> Bool {
      var (hasher, length, head) = (SHA256(), Int64(0), [UInt8]())
      var chunk = [UInt8](repeating: 0, count: 1 << 20)
      while true {
        let count: Int
        do throws(SystemError) {
          count = try retryingInterrupts("read") { read(file.rawValue, &chunk, chunk.count) }
        } catch {
          return false
        }
        if count == 0 { break }
        length += Int64(count)
        guard size.map({ length <= $0 }) ?? (length <= Self.largestPoster) else { return false }
        if head.count < 3 { head += chunk[..<count].prefix(3 - head.count) }
        chunk.withUnsafeBytes { hasher.update(bufferPointer: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        try use(chunk[..<count])
      }
      guard size.map({ length == $0 }) ?? true else { return false }
      return switch proof {
      case .digest(let digest): ContentDigest(sha256: hasher.finalize()) == digest
      case .isJPEG: head == [0xFF, 0xD8, 0xFF]
      }
    }

    private static let largestPoster: Int64 = 64 << 20
  }

  /// Nil when there is no file that can be read: what is gone does not keep the rest from the page.
  private static func open(_ path: String) throws(SiteError) -> Descriptor? {
    // A pipe would wait for its writer.
    let flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY
    do throws(SystemError) {
      let file = try Descriptor(opening: path, flags)
      return try file.status().st_mode & S_IFMT == S_IFREG ? file : nil
    } catch {
      // Those are not about this file.
      guard [EMFILE, ENFILE, ENOMEM].contains(error.code) else { return nil }
      throw SiteFolder.failure("\(path) can't be read", error)
    }
  }

  /// The path of a `file:` URL; nil for others.
  static func path(of url: String) -> String? {
    guard url.hasPrefix("file:///"), let path = PercentEncoding.decode(url.dropFirst("file://".count)),
      !path.utf8.contains(0)
    else { return nil }
    return path
  }
}

/// Where media come from, for the page's content security policy.
enum MediaOrigin {
  /// Beyond so many, the policy names their schemes.
  static let most = 32

  /// The source that allows `url`: its origin, or its scheme where an origin can't be written in a policy; nil for one
  /// that belongs to the site.
  static func source(of url: String) -> String? {
    guard let colon = url.firstIndex(of: ":") else { return nil }
    let scheme = url[..<colon].lowercased()
    if scheme == "file" { return "file:" }
    guard scheme == "https" || scheme == "http" else { return nil }
    let rest = url[colon...].dropFirst()
    guard rest.hasPrefix("//") else { return nil }
    let host = rest.dropFirst(2).prefix { !"/?#".contains($0) }.lowercased()
    let isPlain =
      !host.isEmpty
      && host.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
          UInt8(ascii: "."), UInt8(ascii: ":"):
          true
        default: false
        }
      }
    return isPlain ? "\(scheme)://\(host)" : "\(scheme):"
  }

  static func sources(_ origins: Set<String>) -> [String] {
    guard origins.count > most else { return origins.sorted() }
    return Set(origins.map { $0.prefix { $0 != ":" } + ":" }).sorted()
  }
}
