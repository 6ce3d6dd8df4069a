import Foundation
import Testing

/// Which form of the tests is run.
package enum TestForm {
  private static let environment = ProcessInfo.processInfo.environment

  /// The long one, with campaigns that take hours: `REEL_LONG=1`, which `scripts/test --long` sets.
  package static let isLong = environment["REEL_LONG"] == "1"

  /// Whether the programs were built with a sanitizer (`scripts/test --long`), which makes them several times slower.
  package static let isSanitized = environment["REEL_SANITIZER"] != nil

  /// The quick one, without servers and campaigns: `REEL_QUICK=1`, which `scripts/test --quick` sets.
  static let isQuick = environment["REEL_QUICK"] == "1"

  /// Whether nothing was asked for that takes long: neither of these forms, nor more rounds.
  static let isShort =
    !isLong && !isSanitized && environment["REEL_KILLS"] == nil && environment["REEL_ROUNDS"] == nil
}

extension Trait where Self == TimeLimitTrait {
  /// Ends a test that hangs: after ten minutes for each of its cases, as the machine may be busy with other things;
  /// after four hours in the long form and with a sanitizer.
  package static var shortTime: TimeLimitTrait {
    .timeLimit(.minutes(TestForm.isShort ? 10 : 240))
  }
}

extension Trait where Self == ConditionTrait {
  /// For a campaign, and for a test that waits or starts servers: the quick form leaves them out.
  package static var notQuick: ConditionTrait { .disabled(if: TestForm.isQuick, "not in the quick form") }

  package static var notSanitized: ConditionTrait {
    .disabled(if: TestForm.isSanitized, "not with a sanitizer")
  }
}
