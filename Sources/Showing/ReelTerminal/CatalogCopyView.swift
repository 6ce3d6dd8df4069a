import ReelCatalogCopy
import ReelCore

/// The result of `reel catalog copy`.
package struct CatalogCopyView: Sendable {
  private let result: CatalogCopy.Result
  private let source: String
  private let target: String
  /// Whether the copy is on a server that other machines use, too.
  private let isShared: Bool

  package init(_ result: CatalogCopy.Result, from source: String, to target: String, isShared: Bool) {
    (self.result, self.source, self.target, self.isShared) = (result, source, target, isShared)
  }

  package func text(_ traits: TerminalTraits) -> String {
    var sheet = FactSheet(traits)
    sheet.add("from", source)
    sheet.add("to", target)
    sheet.add("posts", "\(result.rows(.posts))", .strong)
    for part in result.parts where part.section != .posts && part.section != .feed && part.rows > 0 {
      sheet.add(Self.noun(part.section), "\(part.rows)")
    }
    for part in result.parts where part.leftBehind > 0 {
      sheet.add("not copied", "\(Self.noun(part.section)) of use only in the old catalog: \(part.leftBehind)")
    }
    sheet.add("compared", "all rows, read from both, are the same")
    let notes = notes.flatMap { traits.wrapped(traits.sanitized($0)) }
    return (sheet.lines(indent: 0) + notes).text(traits)
  }

  private static func noun(_ section: CatalogSection) -> String {
    switch section {
    case .destinations: "stores"
    case .intents: "intents"
    case .arrivals: "files that were mended"
    case .posters: "posters"
    case .feed: "counters"
    case .posts: "posts"
    case .removals: "removed posts"
    case .departures: "marks of moved posts"
    case .changes: "open changes"
    case .events: "pending events"
    case .checkpoints: "checkpoints"
    case .readings: "probe results"
    case .files: "known files"
    case .failures: "failures"
    case .lanes: "wishes of queue items"
    case .policies: "policies"
    case .throttles: "pauses and limits"
    case .items: "queue items"
    case .happenings: "history of queue items"
    case .work: "queue states"
    case .workers: "workers"
    }
  }

  /// Stores that are folders, whose objects can be found only by machines that have them under that path.
  private var folders: [(name: Destination, posts: Int)] {
    result.destinations.filter { $0.name.name.hasPrefix("file:") && $0.posts > 0 }
  }

  private var notes: [String] {
    let moved = folders.map { folder in
      let count = HumanNumber.count(folder.posts, "post", "posts")
      return isShared
        ? "\(folder.name) holds the objects of \(count): every machine that uses the catalog has to find them there; "
          + "otherwise move them to a store that all of them reach, and say so with reel relocate"
        : "\(folder.name) holds the objects of \(count) and stays where they are: it is not the folder media in \(target)"
    }
    return moved + [
      "no object was copied; publish with the copy alone from now on: what is published with the old catalog is unknown to "
        + "the new one, and would be published twice"
    ]
  }
}

extension CatalogCopyView: Encodable {
  private enum CodingKeys: String, CodingKey { case from, to, posts, sections, folders }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(source, forKey: .from)
    try container.encode(target, forKey: .to)
    try container.encode(result.rows(.posts), forKey: .posts)
    try container.encode(result.parts.map(Part.init), forKey: .sections)
    try container.encode(folders.map(Folder.init), forKey: .folders)
  }

  private struct Part: Encodable {
    let name: String
    let rows: Int
    let sha256: String
    let leftBehind: Int

    init(_ part: CatalogCopy.Part) {
      (name, rows, sha256) = (part.section.rawValue, part.rows, part.digest)
      leftBehind = part.leftBehind
    }
  }

  private struct Folder: Encodable {
    let destination: String
    let posts: Int

    init(_ folder: (name: Destination, posts: Int)) {
      (destination, posts) = (folder.name.name, folder.posts)
    }
  }
}
