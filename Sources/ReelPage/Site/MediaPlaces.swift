import Glibc
import ReelCore

/// Where the page finds a post's video and poster: beside it where they are in the site, else where the post says.
struct MediaPlaces: Sendable {
  let folder: SiteFolder
  let placement: MediaPlacement
  /// `file:///…/`, percent-encoded as the stores write it.
  private let base: String
  static let name = "media"

  init(_ folder: SiteFolder, _ placement: MediaPlacement) {
    self.folder = folder
    self.placement = placement
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
    // What a person called a file is not for the public.
    placed.post.sourceName = nil
    if let url = try place(post.videoURL, as: post.video, size: post.size) {
      placed.post.videoURL = url
    } else {
      placed.isMissing = true
    }
    // A poster that is gone is no reason to look again: the page has the blurHash.
    if let url = post.posterURL, let key = post.poster {
      placed.post.posterURL = try place(url, as: key, size: nil)
    }
    return placed
  }

  /// The URL of an object for the page; nil when it should be in the site, and is not to be found.
  private func place(_ url: String, as key: ObjectKey, size: Int64?) throws(SiteError) -> String? {
    if url.hasPrefix(base) { return String(url.dropFirst(base.count)) }
    guard placement != .inPlace, let path = Self.path(of: url) else { return url }
    let name = "\(Self.name)/\(key.rawValue)"
    return try bring(path, to: name, size: size) ? name : nil
  }

  /// False when there is no file at `path` that can be read.
  private func bring(_ path: String, to name: String, size: Int64?) throws(SiteError) -> Bool {
    if folder.holdsFile(name, size: size) { return true }
    guard let source = try Self.open(path) else { return false }
    if placement == .link { return try folder.link(path, as: name) }
    var isUnreadable = false
    do throws(SiteError) {
      try folder.replace(name, isDurable: false) { file throws(SystemError) in
        var chunk = [UInt8](repeating: 0, count: 1 << 20)
        while true {
          let count: Int
          do throws(SystemError) {
            count = try retryingInterrupts("read") { read(source.rawValue, &chunk, chunk.count) }
          } catch {
            isUnreadable = true
            throw error
          }
          if count == 0 { return }
          try file.write(all: chunk[..<count])
        }
      }
    } catch {
      if isUnreadable { return false }
      throw error
    }
    return true
  }

  /// Nil when there is no file that can be read: what is gone does not keep the rest from the page.
  private static func open(_ path: String) throws(SiteError) -> Descriptor? {
    // A pipe would wait for its writer.
    let flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC
    do throws(SystemError) {
      let file = Descriptor(adopting: try retryingInterrupts("open") { Glibc.open(path, flags) })
      var status = stat()
      _ = try retryingInterrupts("fstat") { fstat(file.rawValue, &status) }
      return status.st_mode & S_IFMT == S_IFREG ? file : nil
    } catch {
      // Those are not about this file.
      guard [EMFILE, ENFILE, ENOMEM].contains(error.code) else { return nil }
      throw SiteFolder.failure("\(path) can't be read", error)
    }
  }

  /// The path of a `file:` URL; nil for others.
  static func path(of url: String) -> String? {
    guard url.hasPrefix("file:///") else { return nil }
    var bytes: [UInt8] = []
    var rest = Array(url.utf8.dropFirst("file://".utf8.count))[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16), value != 0
      else { return nil }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    return String(validating: bytes, as: UTF8.self)
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
