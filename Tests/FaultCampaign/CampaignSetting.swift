import Foundation
import ReelTestSupport

/// Which scenarios of a campaign are run: all of them with `REEL_LONG=1`, else one of each kind, drawn by `REEL_SEED`.
/// `REEL_FAULT` keeps only those whose description contains it, such as `swallow the reply, request 2, once`.
package struct CampaignSetting: Sendable {
  package let seed: UInt64
  package let isLong: Bool
  package let only: String?

  package init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
    seed = TestSeed.drawn(environment)
    isLong = TestForm.isLong
    only = environment["REEL_FAULT"]
  }

  /// Draws `count` different elements of `all`; the same ones from the same seed.
  package func draw<Element>(_ count: Int, of all: [Element], _ draws: SeededRandomness) -> [Element] {
    guard !isLong, only == nil else { return all }
    var left = all
    return (0..<min(count, all.count)).map { _ in
      left.remove(at: Int(draws.number(below: UInt64(left.count))))
    }
  }
}

extension CampaignSetting {
  /// - Parameter requests: the shapes of the requests, in order.
  func choose(
    from kinds: [FaultKind], _ requests: [String], oneKindIn share: Int,
    sparing spares: (FaultKind, String) -> Bool
  ) -> [Fault] {
    let draws = SeededRandomness(seed: seed)
    let drawn = share == 1 ? kinds : draw((kinds.count + share - 1) / share, of: kinds, draws)
    return drawn.flatMap { kind in
      let all = requests.indices.filter { !spares(kind, requests[$0]) }.flatMap { index in
        Fault.Reach.allCases.map { Fault(kind, at: index + 1, $0) }
      }
      return draw(1, of: all, draws)
    }.filter { fault in only.map { fault.description.contains($0) } ?? true }
  }
}
