import ReelCore
import ReelIngest

/// What would be published, in a dry run of one file.
package enum PlanSummary {
  /// A newline after each line.
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
