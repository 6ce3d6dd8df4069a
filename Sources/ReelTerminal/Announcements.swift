import ReelCore
import ReelIngest

/// Which events get a line of their own that stays.
package struct Announcements: OptionSet, Hashable, Sendable {
  /// One bit for each kind.
  package let rawValue: Int

  /// From bits.
  package init(rawValue: Int) { self.rawValue = rawValue }

  /// `file.failed`.
  package static let failures = Announcements(rawValue: 1)
  /// `file.refused`.
  package static let refusals = Announcements(rawValue: 2)
  /// `file.duplicate`.
  package static let duplicates = Announcements(rawValue: 4)
  /// What was published, or in a dry run would be.
  package static let posts = Announcements(rawValue: 8)
  /// `upload.retrying`.
  package static let retries = Announcements(rawValue: 16)

  /// What a person must see.
  package static let troubles: Announcements = [.failures, .refusals]
  /// All of them.
  package static let everything: Announcements = [.failures, .refusals, .duplicates, .posts, .retries]

  /// The lines that `event` gets; none for most.
  package func lines(for event: IngestEvent, traits: TerminalTraits) -> [String] {
    styled(event, traits).map { $0.text(traits) }
  }

  func styled(_ event: IngestEvent, _ traits: TerminalTraits) -> [StyledLine] {
    guard let file = event.body.file, let words = words(event.body), contains(words.kind) else { return [] }
    let sentence = words.detail.isEmpty ? file.path.shown : Sentence.naming(file.path.shown, words.detail)
    return traits.wrapped(words.lead, words.style, traits.sanitized(sentence))
  }

  private struct Words {
    let kind: Announcements
    let lead: String
    let style: StyledLine.TextStyle?
    let detail: String

    init(_ kind: Announcements, _ lead: String, _ style: StyledLine.TextStyle?, _ detail: String) {
      self.kind = kind
      self.lead = lead
      self.style = style
      self.detail = detail
    }
  }

  private func words(_ body: IngestEvent.Body) -> Words? {
    switch body {
    case .fileFailed(_, let failure):
      Words(.failures, "failed:", .failure, "\(failure.message) [\(failure.code)]")
    case .fileRefused(_, let refusal):
      Words(.refusals, "refused:", .warning, "\(refusal.message) [\(refusal.code)]")
    case .fileDuplicate(_, let duplicate):
      Words(
        .duplicates, "duplicate:", .dim,
        duplicate.post.map { "it is post \($0.id) already" } ?? "it is the same video as a file before it")
    case .postPublished(_, let post): Words(.posts, "published:", .success, "it is post \(post.id)")
    case .filePlanned: Words(.posts, "would publish:", .success, "")
    case .uploadRetrying(_, let progress):
      Words(
        .retries, "trying again:", .warning,
        "attempt \(progress.attempt)" + (progress.retrying.map { ", \($0.message)" } ?? ""))
    default: nil
    }
  }
}
