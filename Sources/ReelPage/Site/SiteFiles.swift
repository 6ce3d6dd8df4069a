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

  /// The objects that lie in the site's folders, as `--media` or `reel ingest --to SITE/media` put them there. Other
  /// files of these folders do not count. Blocks.
  package func media() throws(SiteError) -> [SiteMedia] {
    var media: [SiteMedia] = []
    for folder in try folder.names(in: ".").sorted() where folder != "feed" && !folder.hasPrefix(".") {
      // Not a folder, or not ours to read.
      guard let names = try? FileManager.default.subpathsOfDirectory(atPath: path(folder)) else { continue }
      for name in names {
        let parts = "\(folder)/\(name)".split(separator: "/")
        guard let last = parts.last, ObjectKey.isDrawn(String(last)), let key = ObjectKey(String(last)),
          !parts.contains(where: { $0.hasPrefix(".") }),
          let size = self.folder.size(of: "\(folder)/\(name)")
        else { continue }
        media.append(
          SiteMedia(
            folder: parts.dropLast().joined(separator: "/"), key: key, size: size,
            path: path("\(folder)/\(name)")))
      }
    }
    return media
  }

  private func path(_ name: String) -> String { "\(folder.path.text)/\(name)" }
}
