import ReelCore
import ReelIngest

/// A run's end as JSON (`reel ingest --json`).
///
/// `{"v": 1, "destination": …, "dryRun": …, "summary": {as in run.finished}, "unfinished": …,
/// "troubles": [{"path", "code", "message", "refused"}], "troublesLeftOut": 0, "posts": […]}`
package struct RunDocument: JSONDocument, Sendable {
  private enum CodingKeys: String, CodingKey {
    case v, destination, dryRun, summary, unfinished, troubles, troublesLeftOut, posts
  }
  private let report: RunReport
  private let posts: [Post]?

  /// - Parameter posts: what was published, where it was collected; nil leaves the key out.
  package init(_ report: RunReport, posts: [Post]? = nil) {
    self.report = report
    self.posts = posts
  }

  /// Throws what the encoder throws.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(1, forKey: .v)
    try container.encode(report.destination, forKey: .destination)
    try container.encode(report.dryRun, forKey: .dryRun)
    try container.encode(report.summary, forKey: .summary)
    try container.encode(report.unfinished, forKey: .unfinished)
    try container.encode(report.troubles.entries, forKey: .troubles)
    try container.encode(report.troubles.leftOut, forKey: .troublesLeftOut)
    try container.encodeIfPresent(posts, forKey: .posts)
  }
}
