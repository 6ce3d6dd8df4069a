import ReelIngest

/// How one scenario ended.
package struct ScenarioOutcome: Sendable {
  /// Such as `swallow the reply, request 2, once`.
  package let fault: String
  /// The result of the run through the fault.
  package let result: PublishResult
  /// How often the fault struck.
  package let struck: Int
  /// The promises that do not hold.
  package var broken: [String]

  package init(fault: String, result: PublishResult, struck: Int, broken: [String] = []) {
    (self.fault, self.result, self.struck, self.broken) = (fault, result, struck, broken)
  }
}

/// The outcome of a campaign.
package struct CampaignTally: CustomStringConvertible {
  package private(set) var broken: [String] = []
  private var published = 0
  private var failures: [String: Int] = [:]
  private var unstruck = 0

  package init() {}

  package mutating func add(_ outcome: ScenarioOutcome) {
    broken += outcome.broken.map { "\(outcome.fault): \($0)" }
    if outcome.struck == 0 { unstruck += 1 }
    if case .failed(let failure) = outcome.result {
      failures[failure.code.rawValue, default: 0] += 1
    } else {
      published += 1
    }
  }

  /// - Throws: `BrokenPromises` when a promise does not hold.
  package func check(_ campaign: String) throws {
    guard broken.isEmpty else { throw BrokenPromises(campaign: campaign, sentences: broken) }
  }

  package var description: String {
    let codes = failures.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
    return "\(published) published despite the fault, failed at first: \(codes.joined(separator: ", "))"
      + (unstruck > 0 ? ", \(unstruck) in which the fault never struck" : "")
  }
}

/// The promises that do not hold, each with the scenario that shows it.
///
/// It is thrown because an error appears in the very line of a failed test, which is all that some logs keep.
package struct BrokenPromises: Error, CustomStringConvertible {
  let campaign: String
  let sentences: [String]

  package var description: String {
    "\(campaign): \(sentences.count) findings: "
      + sentences.joined(separator: "; ").replacing("\n", with: " ")
  }
}
