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

  /// Whether nobody has asked for what takes long: neither of these, nor for more rounds.
  static let isShort =
    !isLong && !isSanitized && environment["REEL_KILLS"] == nil && environment["REEL_ROUNDS"] == nil
}

extension Trait where Self == TimeLimitTrait {
  /// Ends what hangs: ten minutes for each case of a test, as the machine may be busy with other things; four hours in the
  /// long form and with a sanitizer.
  package static var shortTime: TimeLimitTrait {
    .timeLimit(.minutes(TestForm.isShort ? 10 : 240))
  }
}

extension Trait where Self == ConditionTrait {
  /// A campaign, or what waits or starts servers: not for the quick form.
  package static var notQuick: ConditionTrait { .disabled(if: TestForm.isQuick, "not in the quick form") }
}
