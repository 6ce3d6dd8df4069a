import FoundationEssentials
import ReelCore

/// A file of a site, with the headers that a web server is to send with it.
package struct SiteFile: Hashable, Sendable {
  /// The path relative to the site's folder.
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

  /// For a file whose address stays the same when it changes: caches must revalidate it each time.
  fileprivate static let checked = "no-cache"
  /// For a full page, which changes only together with `revision`, which is part of the address that the page's script
  /// uses.
  fileprivate static let full = "max-age=3600"
}

/// A video or poster in a site's folder.
package struct SiteMedia: Hashable, Sendable {
  /// The path relative to the site's folder, such as `media`.
  package let folder: String
  package let key: ObjectKey
  /// The size in bytes.
  package let size: Int64
  /// The digest according to the post; nil for a poster.
  package let digest: ContentDigest?
  /// The path of the file.
  package let path: String
}

extension SiteWriter {
  /// The page that visitors open.
  package static let entry = "index.html"
  /// The file that every site has.
  package static let index = "feed/index.json"

  /// The site's files in the order in which they must be put into another place: step by step, in any order within a
  /// step. That way an index names only pages that are there, and ``entry`` is found only where everything else is.
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

  /// Whether a file of this name, which is not one of the site's present files, was once a page of the site.
  package static func isFormerPage(_ name: String) -> Bool {
    let parts = name.dropFirst("feed/".count).split(separator: ".", omittingEmptySubsequences: false)
    return name.hasPrefix("feed/") && parts.count == 2 && ["js", "json"].contains(parts[1])
      && Int(parts[0]).map { $0 > 0 && "\($0)" == parts[0] } ?? false
  }

  /// The videos and posters of the site's posts that are in its folders, where `--media` or `reel ingest --to
  /// SITE/media` put them. Other files in these folders and targets of links do not count. Blocks.
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

  /// Nil if the object is not in the site, or is missing.
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

/// A page as the site shows it.
struct ShownPage: Decodable {
  let posts: [ShownPost]
}

/// The parts of a post in `feed/N.json` that name its media.
struct ShownPost: Decodable {
  let id: PostID
  let video: ObjectKey
  let videoURL: String
  let size: Int64?
  let digest: ContentDigest?
  let poster: ObjectKey?
  let posterURL: String?

  /// The names of its media that are in folders of the site.
  var ownMedia: [String] {
    [
      Self.mediaName(videoURL, video),
      posterURL.flatMap { url in poster.flatMap { Self.mediaName(url, $0) } },
    ].compactMap(\.self)
  }

  /// The name of an object within the site; nil for an object elsewhere.
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
