import ReelCore
import ReelIngest

package enum PostSummary {
  /// The heading above a card.
  package enum Title: Hashable, Sendable {
    case none
    case published
    /// The same video already is a post.
    case duplicate
  }

  package static func text(_ post: Post, title: Title = .none, _ traits: TerminalTraits) -> String {
    (heading(title, traits) + facts(post, traits)).text(traits)
  }

  /// The card of a post that was removed, with the details of its removal.
  package static func text(_ removed: RemovedPost, _ traits: TerminalTraits) -> String {
    var sheet = FactSheet(traits)
    let removal = removed.removal
    sheet.add("removed", ISOTime.second(removal.at))
    sheet.add("reason", removal.reason)
    sheet.add("by", removal.by)
    sheet.add("kept until", removal.keptUntil.map(ISOTime.second))
    addFacts(of: removed.post, isRemoved: true, to: &sheet, traits)
    let heading = traits.wrapped(
      "removed: no feed shows this post, and its video is not published again", .strong)
    return (heading + sheet.lines(indent: 0)).text(traits)
  }

  private static func heading(_ title: Title, _ traits: TerminalTraits) -> [StyledLine] {
    switch title {
    case .none: []
    case .published: traits.wrapped("published", .success)
    case .duplicate: traits.wrapped("nothing new: this video is already published", .strong)
    }
  }

  private static func facts(_ post: Post, _ traits: TerminalTraits) -> [StyledLine] {
    var sheet = FactSheet(traits)
    addFacts(of: post, isRemoved: false, to: &sheet, traits)
    return sheet.lines(indent: 0)
  }

  /// - Parameter isRemoved: whether to omit the post's addresses, which no longer lead anywhere.
  private static func addFacts(
    of post: Post, isRemoved: Bool, to sheet: inout FactSheet, _ traits: TerminalTraits
  ) {
    sheet.add("id", post.id.description, .strong)
    sheet.add("caption", post.caption)
    sheet.add("music", post.music)
    sheet.add("author", author(post))
    sheet.add("file", post.sourceName)
    sheet.add("mended", post.mended?.joined(separator: ", "))
    sheet.add("video", video(post, traits))
    if !isRemoved {
      sheet.add("url", post.videoURL)
      sheet.add("poster", post.posterURL)
    }
    sheet.add("number", post.pageNumber.map { "\(isRemoved ? "was " : "")\($0) in the feed" })
    sheet.add("posted", post.createdAt.map(ISOTime.second))
    sheet.add("likes", post.likeCount.map { "\($0)" })
    sheet.add("shares", post.shareCount.map { "\($0)" })
    sheet.add("comment", post.commentID)
    sheet.add("digest", post.digest?.description)
    sheet.add("read by", post.probe.map(ProbeSummary.provenance))
  }

  private static func author(_ post: Post) -> String? {
    guard let name = post.authorName else { return post.authorID }
    return post.authorID.map { "\(name) (\($0))" } ?? name
  }

  private static func video(_ post: Post, _ traits: TerminalTraits) -> String {
    let parts = [
      post.videoFileExtension, size(post, traits), post.duration.map(HumanNumber.duration),
      post.size.map(HumanNumber.bytes),
    ]
    return parts.compactMap(\.self).joined(separator: ", ")
  }

  /// `1080×1920`
  static func size(_ post: Post, _ traits: TerminalTraits) -> String? {
    ProbeSummary.size(post.videoWidth, post.videoHeight, traits)
  }
}

/// The card of what would be published, in a dry run of one file.
package enum PlanSummary {
  package static func text(_ plan: FilePlanned, of path: SourcePath, _ traits: TerminalTraits) -> String {
    let heading = traits.wrapped(
      "dry run, nothing was written:", .strong, traits.sanitized(path.shown) + " would be published")
    var sheet = FactSheet(traits)
    sheet.add("caption", plan.metadata.caption)
    sheet.add("music", plan.metadata.music)
    sheet.add("author", plan.metadata.authorName ?? plan.metadata.authorID)
    ProbeSummary.addFacts(of: plan.media, to: &sheet, traits)
    return (heading + sheet.lines()).text(traits)
  }
}
