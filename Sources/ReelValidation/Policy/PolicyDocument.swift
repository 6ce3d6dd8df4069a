/// One policy file as it was read, before what it extends is added.
struct PolicyDocument: Sendable {
  struct Override: Sendable {
    let patterns: [String]
    let settings: [String: RuleSetting]
  }
  struct Base: Sendable {
    let name: String
    let place: PolicyPlace
  }
  var name: String?
  var version: String?
  /// What it builds upon; nil when it does not say, which stands for the sanity rules.
  var extends: [Base]?
  var settings: [String: RuleSetting] = [:]
  var overrides: [Override] = []
}
