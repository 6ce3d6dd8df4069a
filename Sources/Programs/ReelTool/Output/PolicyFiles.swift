import ReelFeeds
import ReelPostgres
import ReelValidation

/// Reads policies for the command line.
enum PolicyFiles {
  /// - Parameters:
  ///   - name: a preset, or a policy file.
  ///   - place: where it was named, as the beginning of a sentence; empty for a flag.
  /// - Throws: ``CommandFailure`` that lists everything that is wrong with it.
  static func policy(_ name: String, from place: String = "") throws -> Policy {
    try orCommandFailure { () throws(PolicyError) in
      try PolicyLibrary.local.policy(name)
    } told: {
      place + $0.sentence
    }
  }

  /// A policy together with all that it extends, so that workers on other machines can use it.
  /// - Throws: ``CommandFailure``.
  static func shared(_ name: String) throws -> QueuePolicy {
    try orCommandFailure(
      .couldNotRun, { () throws(PolicyError) in try PolicyBundle.shared(name) }, told: \.sentence)
  }

  /// Everything that is wrong with the policy `name`; empty when it can be used.
  static func problems(of name: String) -> [PolicyProblem] {
    do throws(PolicyError) {
      _ = try PolicyLibrary.local.policy(name)
      return []
    } catch {
      return error.problems
    }
  }
}
