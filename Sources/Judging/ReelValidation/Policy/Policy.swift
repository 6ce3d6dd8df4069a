import ReelCore

/// Requirements for files: each rule with its severity and operand, and different settings for some files.
package struct Policy: Sendable {
  /// The name that it gives itself, or by which it was requested.
  package let name: String
  /// Its own date or number.
  package let version: String?
  let settings: [String: RuleSetting]
  let overrides: [Override]
  /// The active rules for files without an override.
  private let common: [ActiveRule]

  struct Override: Sendable {
    let place: PolicyPlace
    let patterns: [GlobPattern]
    let settings: [String: RuleSetting]
  }

  /// - Throws: ``PolicyError`` if a rule is on but lacks its operand.
  init(
    name: String, version: String?, settings: [String: RuleSetting], overrides: [Override]
  ) throws(PolicyError) {
    self.name = name
    self.version = version
    self.settings = settings
    self.overrides = overrides
    common = Self.active(settings)
    let all = [settings] + overrides.map { Self.merged(settings, $0.settings) }
    let problems = all.flatMap(Self.problems)
    guard problems.isEmpty else { throw PolicyError(problems) }
  }

  /// Returns the rules that apply to a file, in the order of ``RuleRegistry``.
  ///
  /// - Parameter path: relative to the folder that the user named; for a file that was named itself, its name.
  package func rules(for path: SourcePath) -> [ActiveRule] {
    let matching = overrides.filter { override in
      override.patterns.contains { $0.matches(path.bytes, isFolder: false) }
    }
    guard !matching.isEmpty else { return common }
    return Self.active(matching.reduce(settings) { Self.merged($0, $1.settings) })
  }

  /// Returns a sentence for each override that matches none of the files `paths`, which are given as for
  /// ``rules(for:)``.
  package func idleOverrides(among paths: [SourcePath]) -> [String] {
    overrides.filter { override in
      !paths.contains { path in
        override.patterns.contains { $0.matches(path.bytes, isFolder: false) }
      }
    }.map {
      $0.place.problem(
        "this override matches none of the files; its patterns are relative to the folder that was named"
      ).description
    }
  }

  package func asks(_ id: String) -> Bool {
    ([settings] + overrides.map(\.settings)).contains { settings in
      settings[id].map { ($0.severity ?? .error) > .off } ?? false
    }
  }

  static func merged(
    _ base: [String: RuleSetting], _ more: [String: RuleSetting]
  ) -> [String: RuleSetting] {
    base.merging(more) { $1.over($0) }
  }

  private static func active(_ settings: [String: RuleSetting]) -> [ActiveRule] {
    RuleRegistry.rules.compactMap { rule in
      guard let setting = settings[rule.id] else { return nil }
      let severity = setting.severity ?? .error
      guard severity > .off, let judge = rule.bind(setting.operand ?? Operand()) else { return nil }
      return ActiveRule(rule: rule, severity: severity, judge: judge)
    }
  }

  private static func problems(_ settings: [String: RuleSetting]) -> [PolicyProblem] {
    RuleRegistry.rules.compactMap { rule in
      guard let setting = settings[rule.id], setting.severity != .off, let form = rule.operand,
        setting.operand == nil
      else { return nil }
      return setting.place.problem("\(rule.id) is on and has no value; the value must be \(form.name)")
    }
  }
}

/// What one policy file says about one rule; what it does not state is inherited.
struct RuleSetting: Hashable, Sendable {
  var severity: Severity?
  var operand: Operand?
  var place: PolicyPlace

  /// Merges this setting over an inherited one. A rule that is given an operand is switched on.
  func over(_ inherited: RuleSetting?) -> RuleSetting {
    guard let inherited else { return self }
    var merged = self
    merged.operand = operand ?? inherited.operand
    if severity == nil {
      merged.severity = inherited.severity == .off || inherited.severity == nil ? .error : inherited.severity
    }
    return merged
  }
}

struct PolicyPlace: Hashable, Sendable {
  let source: String
  let line: Int?
  let column: Int?

  func problem(_ message: String) -> PolicyProblem {
    PolicyProblem(source: source, line: line, column: column, message: message)
  }
}

/// A problem in a policy file, and where it is.
package struct PolicyProblem: Hashable, Sendable {
  /// The file's name as given, or the preset's; empty if there is neither.
  package let source: String
  /// Counted from 1; nil if the problem concerns the file as a whole.
  package let line: Int?
  /// Counted from 1, in characters.
  package let column: Int?
  /// What is wrong and what to do; one sentence.
  package let message: String

  package init(source: String, line: Int? = nil, column: Int? = nil, message: String) {
    self.source = source
    self.line = line
    self.column = column
    self.message = message
  }
}

extension PolicyProblem: CustomStringConvertible {
  /// `policy.yaml:3:5: there is no rule …`
  package var description: String {
    let place = [line, column].compactMap { $0.map { ":\($0)" } }.joined()
    return source.isEmpty ? message : "\(source)\(place): \(message)"
  }
}

/// Why a policy can't be used: everything that is wrong with it.
public struct PolicyError: Error, Hashable, Sendable, CustomStringConvertible {
  /// At least one, in the order of the file.
  package let problems: [PolicyProblem]

  package init(_ problems: [PolicyProblem]) {
    self.problems = problems
  }

  /// One line per problem: `policy.yaml:3:5: there is no rule …`.
  public var description: String { problems.map(\.description).joined(separator: "\n") }

  /// All problems in one sentence.
  package var sentence: String {
    "the policy can't be used: \(problems.map(\.description).joined(separator: " · "))"
  }
}
