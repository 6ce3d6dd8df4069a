/// The output of `reel uploader check`, for each promise and at the end.
package struct ContractTestView: Sendable {
  package struct Entry: Hashable, Sendable {
    package let name: String
    package let sentence: String
    /// What was observed instead, if the promise is broken.
    package let problem: String?
    /// The duration of the check in seconds.
    package let seconds: Double

    package init(name: String, sentence: String, problem: String?, seconds: Double) {
      self.name = name
      self.sentence = sentence
      self.problem = problem
      self.seconds = seconds
    }
  }

  private let destination: String
  private let entries: [Entry]
  /// The number of promises that were not checked, because the test ended early.
  private let left: Int
  /// How the store proves what it holds, if it can.
  private let proof: String?

  /// - Parameter destination: the canonical name of the store.
  package init(_ entries: [Entry], destination: String, left: Int, proof: String? = nil) {
    self.proof = proof
    self.entries = entries
    self.destination = destination
    self.left = left
  }

  /// The text before the first check: what happens now, and how long it takes.
  ///
  /// - Parameters:
  ///   - count: the number of promises to check, out of `all`.
  ///   - largeSize: the size of a large object in bytes.
  package static func beginning(
    _ count: Int, of all: Int, destination: String, removes: Bool, largeSize: Int, _ traits: TerminalTraits
  ) -> String {
    let promises = count == all ? "all \(all) checks" : "\(count) of \(all) checks"
    return traits.wrapped(
      traits.sanitized(
        "running \(promises) on \(destination), each with sources in memory and in files: objects of up to "
          + "\(HumanNumber.bytes(Int64(largeSize))) are stored under random names and "
          + (removes ? "removed again" : "stay there, as this store removes nothing")
          + ", and nothing else is "
          + "touched; \(duration(count, of: all))"), .dim
    ).text(traits)
  }

  /// All checks together make some 600 requests, which take nearly all of the time.
  private static func duration(_ count: Int, of all: Int) -> String {
    guard count == all else {
      return "all checks together take seconds in a folder, and minutes in a slow store"
    }
    return "this takes seconds in a folder, and about two minutes if each request takes 0.2 s"
  }

  package static func text(_ entry: Entry, _ traits: TerminalTraits) -> String {
    let kept = "\(entry.name): \(entry.sentence)"
    guard let problem = entry.problem else {
      return traits.wrapped("pass", .success, traits.sanitized(kept)).text(traits)
    }
    return traits.wrapped("FAIL", .failure, traits.sanitized("\(kept): \(problem)")).text(traits)
  }

  /// The last line.
  package func summary(_ traits: TerminalTraits) -> String {
    let broken = entries.count { $0.problem != nil }
    var words =
      broken == 0
      ? "\(destination) passes \(HumanNumber.count(entries.count, "check", "checks"))"
      : "\(destination) fails \(broken) of \(HumanNumber.count(entries.count, "check", "checks"))"
    if left > 0 { words += "; \(left) were not run" }
    if let proof { words += "; \(proof)" }
    return traits.wrapped(traits.sanitized(words)).text(traits)
  }
}

extension ContractTestView: Encodable {
  package var answer: AnswerDocument<Self> {
    var problems = entries.compactMap { entry in
      entry.problem.map { AnswerProblem("promiseBroken", $0, subject: entry.name) }
    }
    if left > 0 {
      problems.append(
        AnswerProblem("notRun", "\(HumanNumber.count(left, "check was", "checks were")) not run"))
    }
    return AnswerDocument(self, problems: problems)
  }

  private enum CodingKeys: String, CodingKey { case destination, promises, kept, broken, notRun, proof }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(destination, forKey: .destination)
    try container.encode(entries.map(Item.init), forKey: .promises)
    try container.encode(entries.count { $0.problem == nil }, forKey: .kept)
    try container.encode(entries.count { $0.problem != nil }, forKey: .broken)
    try container.encode(left, forKey: .notRun)
    try container.encodeIfPresent(proof, forKey: .proof)
  }

  private struct Item: Encodable {
    private enum CodingKeys: String, CodingKey { case name, promise, result, problem, seconds }
    let entry: Entry

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(entry.name, forKey: .name)
      try container.encode(entry.sentence, forKey: .promise)
      try container.encode(entry.problem == nil ? "pass" : "fail", forKey: .result)
      try container.encode(entry.problem, forKey: .problem)
      try container.encode((entry.seconds * 1000).rounded() / 1000, forKey: .seconds)
    }
  }
}
