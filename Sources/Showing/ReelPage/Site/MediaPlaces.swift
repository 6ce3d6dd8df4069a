import Glibc
import ReelCore
import ReelCrypto

/// The places of posts' videos and posters, as the page addresses them: relative if they are in the site, otherwise the
/// URLs in the posts.
struct MediaPlaces: Sendable {
  let folder: SiteFolder
  let placement: MediaPlacement
  /// Whether posts include the names of their source files.
  private let keepsNames: Bool
  /// `file:///…/`, percent-encoded as stores write it.
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
    /// Whether its video should be in the site but was not found.
    var isMissing = false
  }

  /// Brings the media of `post` into the site if that was requested. Blocks.
  func place(_ post: Post) throws(SiteError) -> Placed {
    var placed = Placed(post: post)
    // The name of a user's file is private unless the user says otherwise.
    if !keepsNames { placed.post.sourceName = nil }
    let video = Object(key: post.video, size: post.size, proof: post.digest.map { .digest($0) })
    if let url = try place(post.videoURL, as: video) {
      placed.post.videoURL = url
    } else {
      placed.isMissing = true
    }
    // A missing poster does not call for another look: the page has the blurHash.
    if let url = post.posterURL, let key = post.poster {
      let isBesideVideo = Self.folder(of: url) == Self.folder(of: post.videoURL)
      let poster = Object(key: key, size: nil, proof: isBesideVideo ? .isJPEG : nil)
      placed.post.posterURL = try place(url, as: poster)
    }
    return placed
  }

  /// Whether the URL is that of an object in the site itself, which then belongs to the store.
  func isInSite(_ url: String) -> Bool { url.hasPrefix(base) }

  private static func folder(of url: String) -> Substring? { url.lastIndex(of: "/").map { url[..<$0] } }

  /// What a file must match to be shown as a post's video or poster, because a row of the catalog could name any file
  /// of this machine.
  private struct Object {
    let key: ObjectKey
    /// The size in bytes; nil if the post does not state it.
    let size: Int64?
    /// Nil if nothing can prove that a file is this object.
    let proof: Proof?
  }

  private enum Proof {
    case digest(ContentDigest)
    /// All that can be checked of a poster, because posts do not record its digest.
    case isJPEG
  }

  /// The URL of an object for the page; nil if the object should be in the site but was not found.
  private func place(_ url: String, as object: Object) throws(SiteError) -> String? {
    if url.hasPrefix(base) { return String(url.dropFirst(base.count)) }
    guard placement != .inPlace, let path = Self.path(of: url) else { return url }
    let name = "\(Self.name)/\(object.key.rawValue)"
    return try bring(path, to: name, object) ? name : nil
  }

  /// Brings the file at `path` into the site. Returns false if the file is missing, can't be read, or is not the
  /// object.
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

  /// A file that may be the object.
  private struct FoundObject {
    let file: Descriptor
    let size: Int64?
    let proof: Proof

    /// Reads the file to its end, or until it is too large for the object, and proves that it is the object. A file
    /// that can't be read is not proven.
    /// - Throws: what `use` throws, which is called with all bytes in order.
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

  /// Opens the file; nil if it is not a readable regular file, because a missing file must not keep the rest off the
  /// page.
  private static func open(_ path: String) throws(SiteError) -> Descriptor? {
    // O_NONBLOCK, because opening a pipe would wait for its writer.
    let flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY
    do throws(SystemError) {
      let file = try Descriptor(opening: path, flags)
      return try file.status().st_mode & S_IFMT == S_IFREG ? file : nil
    } catch {
      // These errors are not about this file.
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

/// The origins of media, for the page's content security policy.
enum MediaOrigin {
  /// If there are more origins than this, the policy lists only their schemes.
  static let most = 32

  /// The policy source that allows `url`: its origin, or its scheme if the origin can't be written in a policy; nil for
  /// a URL within the site.
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
