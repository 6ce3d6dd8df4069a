/// Every rule there is, in the order in which they are told.
package enum RuleRegistry {
  /// By group: the file, its container, its index, its length, its picture, its sound, its weight, what it gives
  /// away, its neighbours.
  package static let rules: [Rule] =
    FileRules.all + ContainerRules.all + IndexRules.all + DurationRules.all + VideoRules.all + SizeRules.all
    + RateRules.all + PixelRules.all + AudioRules.all + WeightRules.all + PrivacyRules.all
    + NeighbourRules.all

  private static let byID: [String: Rule] = Dictionary(rules.map { ($0.id, $0) }) { first, _ in first }

  /// Nil when there is no such rule.
  package static func rule(_ id: String) -> Rule? { byID[id] }

  /// The id nearest to `id`, which is none, if one is near enough to be meant.
  package static func nearest(to id: String) -> String? {
    NearestWord.nearest(to: id, among: rules.map(\.id))
  }
}
