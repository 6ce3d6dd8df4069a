import Testing
import ReelTestSupport

extension Trait where Self == ConditionTrait {
  /// `REEL_FAILPOINT`.
  static var needsFailpoints: ConditionTrait {
    .enabled(if: ReelBinary.hasFailpoints, "needs a debug build, for REEL_FAILPOINT")
  }

  static var needsSystemShim: ConditionTrait {
    .enabled(if: SystemShim.isPossible, "needs a preloaded library, which a sanitizer does not allow")
  }

  static var needsStrace: ConditionTrait {
    .enabled(if: Strace.isPossible, "needs strace, and the right to trace")
  }

  static var needsOtherUser: ConditionTrait {
    .enabled(if: OtherUser.mayRunReel, "needs root, and a checkout that other users can reach")
  }

  /// Another user if this one is root, who may do everything.
  static var needsNoRoot: ConditionTrait {
    .enabled(if: !OtherUser.isRoot || OtherUser.mayRunReel, "needs a checkout that other users can reach")
  }
}
