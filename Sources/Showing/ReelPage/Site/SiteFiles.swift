import FoundationEssentials
import ReelCore

/// A file of a site, and what a web server is to say of it.
package struct SiteFile: Hashable, Sendable {
  /// Relative to the site's folder.
  package let name: String
  package let contentType: String
  package let cacheControl: String

  fileprivate init(_ name: String, _ cacheControl: String = Self.checked) {
    self.name = name
    self.cacheControl = cacheControl
    contentType =
      switch name.split(separator: ".").last {
      case "html": "text/html; charset=utf-8"
      case "css": "text/css; charset=utf-8"
      case "js": "text/javascript; charset=utf-8"
      case "svg": "image/svg+xml"
      default: "application/json"
      }
  }

  /// Its address stays when it changes: a cache asks each time whether it has.
  fileprivate static let checked = "no-cache"
  /// A page that is full changes only with `revision`, by which the page's own script addresses it.
  fileprivate static let full = "max-age=3600"
}

/// A video or picture in a site's folder.
package struct SiteMedia: Hashable, Sendable {
  /// Relative to the site's folder, such as `media`.
  package let folder: String
  package let key: ObjectKey
  /// Bytes.
  package let size: Int64
  /// What its post says; nil for a poster.
  package let digest: ContentDigest?
  /// Where it is.
  package let path: String
}

extension SiteWriter {
  /// The page that everything else is for.
  package static let entry = "index.html"
  /// Is there of every site.
  package static let index = "feed/index.json"

  /// The site's files as they are to be put into another place: one step after the other, in any order within each. So
  /// an index names pages that are there, and ``entry`` is only found in a place that has all the rest.
  package func files() throws(SiteError) -> [[SiteFile]] {
    guard let index = try readIndex() else { throw missing(Self.index) }
    var first = ["style.css", "script.js", "icon.svg"].map { SiteFile($0) }
    for page in 1..<index.pages + 1 {
      let control = index.posts(on: page) == index.size ? SiteFile.full : SiteFile.checked
      first += [SiteFile("feed/\(page).json", control), SiteFile("feed/\(page).js", control)]
    }
    return [first, [SiteFile("feed/index.js"), SiteFile(Self.index)], [SiteFile(Self.entry)]]
  }

  /// The bytes of a file. Blocks.
  package func bytes(of name: String) throws(SiteError) -> [UInt8] {
    guard let bytes = try folder.read(name) else { throw missing(name) }
    return bytes
  }

  private func missing(_ name: String) -> SiteError {
    SiteError(
      .unusable,
      "\(folder.path.text)/\(name) is missing: run the same command with --all, which writes it again")
  }

  /// Whether a file of this name, which is none of the site's, is one that it once had.
  package static func isFormerPage(_ name: String) -> Bool {
    let parts = name.dropFirst("feed/".count).split(separator: ".", omittingEmptySubsequences: false)
    return name.hasPrefix("feed/") && parts.count == 2 && ["js", "json"].contains(parts[1])
      && Int(parts[0]).map { $0 > 0 && "\($0)" == parts[0] } ?? false
  }

  /// The videos and posters of the site's posts that lie in its folders, as `--media` or `reel ingest --to SITE/media`
  /// put them there. Other files of these folders do not count, nor what a link leads to. Blocks.
  package func media() throws(SiteError) -> [SiteMedia] {
    let hasFolders = try folder.names(in: ".").contains { $0 != "feed" && !$0.hasPrefix(".") && isFolder($0) }
    guard hasFolders, let index = try readIndex() else { return [] }
    var media: [SiteMedia] = []
    for page in 1..<index.pages + 1 {
      let name = "feed/\(page).json"
      let bytes = try bytes(of: name)
      guard let page = try? JSONDecoder().decode(ShownPage.self, from: Data(bytes)) else {
        throw SiteError(
          .unusable,
          "\(path(name)) is not what reel page writes: run the same command with --all, which writes it again"
        )
      }
      for post in page.posts {
        media += [
          ownMedia(post.videoURL, post.video, size: post.size, digest: post.digest),
          ownMedia(post.posterURL, post.poster, size: nil, digest: nil),
        ].compactMap(\.self)
      }
    }
    return media
  }

  /// Nil for what is elsewhere, and what is not there.
  private func ownMedia(
    _ url: String?, _ key: ObjectKey?, size: Int64?, digest: ContentDigest?
  ) -> SiteMedia? {
    guard let url, let key, let name = ShownPost.mediaName(url, key), let found = folder.size(of: name),
      size.map({ $0 == found }) ?? true
    else { return nil }
    return SiteMedia(
      folder: name.split(separator: "/").dropLast().joined(separator: "/"), key: key, size: found,
      digest: digest,
      path: path(name))
  }

  private func isFolder(_ name: String) -> Bool {
    var isFolder = false
    return FileManager.default.fileExists(atPath: path(name), isDirectory: &isFolder) && isFolder
  }

  private func path(_ name: String) -> String { "\(folder.path.text)/\(name)" }
}

/// What names a post's media in `feed/N.json`.
/// A page as the site shows it.
struct ShownPage: Decodable {
  let posts: [ShownPost]
}

struct ShownPost: Decodable {
  let id: PostID
  let video: ObjectKey
  let videoURL: String
  let size: Int64?
  let digest: ContentDigest?
  let poster: ObjectKey?
  let posterURL: String?

  /// The names of its media that lie in folders of the site.
  var ownMedia: [String] {
    [
      Self.mediaName(videoURL, video),
      posterURL.flatMap { url in poster.flatMap { Self.mediaName(url, $0) } },
    ].compactMap(\.self)
  }

  /// The name of an object in the site; nil for one that is elsewhere.
  static func mediaName(_ url: String, _ key: ObjectKey) -> String? {
    guard let name = MediaPlaces.path(of: "file:///" + url)?.dropFirst(), isMediaName(name),
      name.split(separator: "/").last == key.rawValue[...]
    else { return nil }
    return String(name)
  }

  static func isMediaName(_ name: some StringProtocol) -> Bool {
    let parts = name.split(separator: "/", omittingEmptySubsequences: false)
    return parts.count > 1 && parts[0] != "feed" && !parts.contains { $0.isEmpty || $0.hasPrefix(".") }
  }
}
