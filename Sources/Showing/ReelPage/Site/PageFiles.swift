import ReelCore
import ReelTerminal

/// The files of a site, as bytes.
enum PageFiles {
  /// The page, with a content security policy that lets it load only its own files and the media of its posts.
  static func page(title: String, origins: [String]) -> [UInt8] {
    let media = (["'self'"] + origins).joined(separator: " ")
    let policy = [
      "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src \(media)",
      "media-src \(media)", "base-uri 'none'", "form-action 'none'",
      "require-trusted-types-for 'script'", "trusted-types reel-feed",
    ].joined(separator: "; ")
    var page = String(decoding: PackageResources.index_html, as: UTF8.self)
    page.replace("{{policy}}", with: HTMLText.escaped(policy))
    page.replace("{{title}}", with: HTMLText.escaped(title))
    return Array(page.utf8)
  }

  static var style: [UInt8] { PackageResources.style_css }
  static var icon: [UInt8] { PackageResources.icon_svg }

  /// The parts of the script, each after those that it depends on.
  static var script: [UInt8] {
    let parts = [
      PackageResources.words_js, PackageResources.picture_js, PackageResources.feed_js,
      PackageResources.track_js, PackageResources.slide_js, PackageResources.player_js,
      PackageResources.grid_js, PackageResources.start_js,
    ]
    return Array("\"use strict\";\n(() => {\n".utf8) + parts.joined(separator: Array("\n".utf8))
      + Array("})();\n".utf8)
  }

  /// Encodes `value` as JSON, and as a script that passes it to `reel.FUNCTION`: a page opened from a disk may load
  /// scripts, but no JSON.
  /// - Throws: `EncodingError`.
  static func data(_ value: some Encodable, for function: String) throws -> (json: [UInt8], script: [UInt8]) {
    let json = Array(try JSONOutput.text(value).utf8)
    var script = Array("reel.\(function)(".utf8)
    script.reserveCapacity(json.count + 64)
    for byte in json.dropLast() {
      // In JSON, "<" occurs only in strings. Without it, no HTML parser sees a tag.
      if byte == UInt8(ascii: "<") { script += Array(#"\u003c"#.utf8) } else { script.append(byte) }
    }
    script += Array(");\n".utf8)
    return (json, script)
  }
}

/// A page of the feed, the oldest post first: `feed/N.json`.
struct PageDocument: Encodable, Sendable {
  private let v = SiteIndex.version
  let page: Int
  let posts: [Post]
}

package enum HTMLText {
  /// The text escaped for HTML text and for attributes in double quotes.
  package static func escaped(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { result, scalar in
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      default: result.unicodeScalars.append(scalar)
      }
    }
  }
}
