import ReelCore

/// The result of `reel poster` for one file.
package typealias PosterDocument = MadeDocument<WrittenPoster>

/// The facts of a poster: `"poster": {"file", "width", "height", "blurHash", "cover", "time"}`.
package struct WrittenPoster: MadeContent {
  private let poster: Poster
  private let file: SourcePath

  /// - Parameter file: the file that it was written to.
  package init(poster: Poster, file: SourcePath) {
    self.poster = poster
    self.file = file
  }

  private enum CodingKeys: String, CodingKey { case poster }
  private enum PosterKeys: String, CodingKey { case file, width, height, blurHash, cover, time }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    var facts = container.nestedContainer(keyedBy: PosterKeys.self, forKey: .poster)
    try facts.encode(file.text, forKey: .file)
    try facts.encode(poster.width, forKey: .width)
    try facts.encode(poster.height, forKey: .height)
    try facts.encode(poster.blurHash, forKey: .blurHash)
    try facts.encode(poster.isCover, forKey: .cover)
    try facts.encode(poster.time, forKey: .time)
  }

  package var words: String {
    let time = ContactSheet.label(seconds: poster.time)
    let origin = poster.isCover ? ", its cover" : time.isEmpty ? "" : ", at \(time)"
    return "\(file.text), \(poster.width)x\(poster.height)\(origin)"
  }
}
