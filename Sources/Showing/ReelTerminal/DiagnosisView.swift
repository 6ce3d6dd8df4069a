import ReelCore
import ReelLibrary

/// The result of `reel doctor`: what it found, what it repaired, and what is left for people to decide.
package struct DiagnosisView: Sendable {
  private let diagnosis: Diagnosis
  private let library: String
  private let fixed: Bool
  /// Whether lost files were looked for where `--from` says.
  private let searched: Bool
  private let sqlite: SQLiteLibrary?

  /// - Parameter sqlite: nil for a catalog in another database.
  package init(
    _ diagnosis: Diagnosis, library: String, fixed: Bool, searched: Bool, sqlite: SQLiteLibrary?
  ) {
    self.searched = searched
    self.sqlite = sqlite
    self.diagnosis = diagnosis
    self.library = library
    self.fixed = fixed
  }

  package func text(_ traits: TerminalTraits) -> String {
    var lines = told(diagnosis.repaired, "repaired:", .success, traits, remedy: false)
    lines += told(diagnosis.left, "found:", .warning, traits, remedy: true)
    lines += traits.listed(diagnosis.failures, rest: " not repaired: --json lists all") {
      $0.lines("not repaired:", traits)
    }
    lines += traits.wrapped(traits.sanitized(summary))
    if let sqlite {
      lines += traits.wrapped("the catalog is kept by SQLite \(sqlite.version), \(sqlite.walResetBug.words)")
    }
    return lines.text(traits)
  }

  private func told(
    _ findings: [Finding], _ lead: String, _ style: StyledLine.TextStyle, _ traits: TerminalTraits,
    remedy: Bool
  ) -> [StyledLine] {
    Finding.Kind.allCases.flatMap { kind in
      let alike = findings.filter { $0.kind == kind }
      return traits.listed(alike, rest: " of [\(kind.rawValue)]: --json lists all") { finding in
        traits.wrapped(lead, style, traits.sanitized(sentence(finding, remedy: remedy)))
      }
    }
  }

  private func sentence(_ finding: Finding, remedy: Bool) -> String {
    let known = "\(finding.subject): \(finding.meaning.description) [\(finding.kind.rawValue)]"
    guard remedy else { return known }
    let way =
      switch finding.repair {
      case .byFix:
        fixed ? "--fix could not repair it: run it again" : "--fix \(finding.remedy.description)"
      case .byHand: finding.remedy.description
      }
    return known + "; " + way
  }

  private var summary: String {
    let objects = HumanNumber.count(diagnosis.objects, "object", "objects")
    let looked =
      diagnosis.wasRead
      ? "\(objects) read and compared" : "\(objects) checked, not read (--read compares their contents)"
    if diagnosis.left.isEmpty {
      let state = diagnosis.repaired.isEmpty ? "nothing is wrong with" : "everything was repaired in"
      return "\(state) \(library): \(looked)"
    }
    let left = HumanNumber.count(diagnosis.left.count, "problem", "problems")
    return "\(left) in \(library)\(repairs): \(looked)"
  }

  /// Which of the problems a flag can repair.
  private var repairs: String {
    let byFix = fixed ? 0 : diagnosis.left.count { $0.repair == .byFix }
    let restorable = fixed && searched ? 0 : diagnosis.left.count(where: \.isRestorable)
    var parts: [String] = []
    if byFix > 0 { parts.append("\(byFix) of which --fix can repair") }
    if restorable > 0 {
      let read = diagnosis.wasRead ? " --read" : ""
      parts.append(
        "\(restorable) of which --fix\(read) --from FOLDER can repair if FOLDER has the lost files")
    }
    if parts.isEmpty, !fixed { parts.append("none of which --fix can repair") }
    return parts.map { ", " + $0 }.joined()
  }
}

extension DiagnosisView: Encodable {
  package var answer: AnswerDocument<Self> {
    AnswerDocument(
      self,
      problems: diagnosis.left.map {
        AnswerProblem(
          $0.kind.rawValue, "\($0.meaning.description); \($0.remedy.description)", subject: $0.subject)
      } + diagnosis.failures.map { AnswerProblem($0) }, ok: diagnosis.left.isEmpty)
  }

  private enum CodingKeys: String, CodingKey {
    case library, mended, left, failures, objects, read, sqlite, walResetBug
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(library, forKey: .library)
    // Anything repaired was repaired by `--fix`.
    try container.encode(
      diagnosis.repaired.map {
        FindingEntry(finding: $0, repair: .byFix)
      }, forKey: .mended)
    try container.encode(
      diagnosis.left.map { FindingEntry(finding: $0, repair: $0.repair) },
      forKey: .left)
    try container.encode(diagnosis.failures, forKey: .failures)
    try container.encode(diagnosis.objects, forKey: .objects)
    try container.encode(diagnosis.wasRead, forKey: .read)
    try container.encode(sqlite?.version, forKey: .sqlite)
    try container.encode(sqlite?.walResetBug, forKey: .walResetBug)
  }

  private struct FindingEntry: Encodable {
    private enum CodingKeys: String, CodingKey { case kind, subject, meaning, remedy, mending, age }
    let finding: Finding
    let repair: Finding.Repair

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(finding.kind, forKey: .kind)
      try container.encode(finding.subject, forKey: .subject)
      try container.encode(finding.meaning, forKey: .meaning)
      try container.encode(finding.remedy, forKey: .remedy)
      try container.encode(repair, forKey: .mending)
      try container.encodeIfPresent(finding.age.map { Int($0 / .seconds(1)) }, forKey: .age)
    }
  }
}

extension RepairFailure {
  fileprivate func lines(_ lead: String, _ traits: TerminalTraits) -> [StyledLine] {
    traits.wrapped(
      lead, .warning, traits.sanitized(Sentence.naming(subject, message.description) + " [\(code)]"))
  }
}

/// The result of `reel doctor --rebuild`.
package struct RebuildView: Encodable, Sendable {
  private let library: String
  private let posts: Int
  package let failures: [RepairFailure]

  package init(library: String, posts: Int, failures: [RepairFailure]) {
    self.library = library
    self.posts = posts
    self.failures = failures
  }

  package var answer: AnswerDocument<Self> {
    AnswerDocument(self, problems: failures.map { AnswerProblem($0) })
  }

  package func text(_ traits: TerminalTraits) -> String {
    let lines = traits.listed(failures, rest: " without a post: --json lists all") {
      $0.lines("no post:", traits)
    }
    let count = HumanNumber.count(posts, "post", "posts")
    let summary =
      "the catalog of \(library) was rebuilt from its stores: \(count); captions, authors and ids could not be recovered, "
      + "as only the lost catalog had them"
    return (lines + traits.wrapped(traits.sanitized(summary))).text(traits)
  }
}
