import ReelUpkeep

/// The final report of `reel poster --missing`.
package struct MissingPostersReport {
  private let count: MissingPosters.Count
  private let reasons: [String]

  /// - Parameter reason: the reason why a store could not be used, as text.
  package init(_ count: MissingPosters.Count, reason: (any Error) -> String) {
    (self.count, reasons) = (count, count.unusable.map(reason))
  }

  /// Whether every post that could have a poster now has one.
  package var isWhole: Bool { count.failed == 0 && count.gone.isEmpty && count.unusable.isEmpty }

  /// What was done for the posts that had no poster.
  private struct Answer: Encodable {
    let made: Int
    let failed: Int
    /// The number of posts in stores that were not examined.
    let elsewhere: Int
  }

  /// - Parameters:
  ///   - printer: the printer that reported each poster.
  ///   - asText: whether the output is for people.
  package func tell(_ printer: PosterPrinter, asText: Bool) throws {
    let gone = count.gone.map {
      "\($0) is not there: mount it or bring it back, then run the same command again"
    }
    try printer.finish(
      Answer(made: count.made, failed: count.failed, elsewhere: count.elsewhere),
      problems: reasons.map { AnswerProblem("unusable", $0) }
        + zip(count.gone, gone).map { AnswerProblem("storeUnusable", $1, subject: "\($0)") },
      ok: isWhole)
    if asText { try OutputStream.standardOutput.tell([sentence]) }
    for sentence in reasons + gone { OutputStream.complain(sentence) }
  }

  private var sentence: String {
    let isNothing =
      count.made + count.failed + count.elsewhere == 0 && count.gone.isEmpty && count.unusable.isEmpty
    var parts = [
      isNothing
        ? "nothing to do: every post has a poster"
        : HumanNumber.count(count.made, "poster", "posters") + " made"
    ]
    if count.failed > 0 { parts.append("\(count.failed) could not be made") }
    if count.elsewhere > 0 {
      parts.append(
        HumanNumber.count(count.elsewhere, "post has", "posts have")
          + " none, in stores that videos can't be read back from, or that need credentials (name the store with --to)"
      )
    }
    return parts.joined(separator: ", ")
  }
}
