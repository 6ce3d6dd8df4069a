import ReelCore
import ReelValidation

/// Reads policies for the command line.
enum PolicyFiles {
  /// - Parameter name: a preset, or a file.
  /// - Throws: ``CommandFailure`` that says everything that is wrong with it.
  static func policy(_ name: String) throws -> Policy {
    do throws(PolicyError) {
      return try PolicyLibrary(load: load).policy(name)
    } catch {
      throw CommandFailure(
        .couldNotRun,
        "the policy can't be used: \(error.problems.map(\.description).joined(separator: " · "))")
    }
  }

  /// Everything that is wrong with the policy `name`; nothing when it can be used.
  static func problems(of name: String) -> [PolicyProblem] {
    do throws(PolicyError) {
      _ = try PolicyLibrary(load: load).policy(name)
      return []
    } catch {
      return error.problems
    }
  }

  /// A name in `extends` is relative to the file that it stands in.
  private static func load(_ name: String, from: String?) throws(PolicyError) -> (
    bytes: [UInt8], source: String
  ) {
    let folder = name.hasPrefix("/") ? nil : from.map(folder(of:))
    let path = folder.map { $0.isEmpty ? name : $0 + "/" + name } ?? name
    do {
      return (try UserFile.read(path, upTo: 1 << 20), path)
    } catch {
      throw PolicyError([PolicyProblem(source: path, message: "it can't be read: \(error.reason)")])
    }
  }

  /// What `path` is in, without a slash at its end; empty for the working folder.
  private static func folder(of path: String) -> String {
    (path.hasPrefix("/") ? "/" : "") + path.split(separator: "/").dropLast().joined(separator: "/")
  }
}
