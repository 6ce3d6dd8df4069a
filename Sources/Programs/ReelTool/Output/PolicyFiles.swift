import ReelFeeds
import ReelPostgres
import ReelValidation

/// Reads policies for the command line.
enum PolicyFiles {
  /// - Parameters:
  ///   - name: a preset, or a file.
  ///   - place: where it was named, as the beginning of a sentence; empty for a flag.
  /// - Throws: ``CommandFailure`` that says everything that is wrong with it.
  static func policy(_ name: String, from place: String = "") throws -> Policy {
    try orCommandFailure { () throws(PolicyError) in
      try PolicyLibrary.local.policy(name)
    } told: {
      place + unusable($0)
    }
  }

  /// A policy as workers on other machines can have it, too: with all that it extends.
  /// - Throws: ``CommandFailure``.
  static func shared(_ name: String) throws -> QueuePolicy {
    try orCommandFailure(
      .couldNotRun, { () throws(PolicyError) in try PolicyBundle.shared(name) }, told: unusable)
  }

  /// What ``shared(_:)`` made.
  /// - Throws: ``CommandFailure``.
  static func policy(_ shared: QueuePolicy) throws -> Policy {
    guard let document = shared.document else { return try policy(shared.name) }
    return try orCommandFailure(
      .couldNotRun, { () throws(PolicyError) in try PolicyBundle.read(document, as: shared.name) },
      told: unusable)
  }

  private static func unusable(_ error: PolicyError) -> String {
    "the policy can't be used: \(error.problems.map(\.description).joined(separator: " · "))"
  }

  /// Everything that is wrong with the policy `name`; nothing when it can be used.
  static func problems(of name: String) -> [PolicyProblem] {
    do throws(PolicyError) {
      _ = try PolicyLibrary.local.policy(name)
      return []
    } catch {
      return error.problems
    }
  }
}
