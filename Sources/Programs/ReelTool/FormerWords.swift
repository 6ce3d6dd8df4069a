import ArgumentParser
import ReelCore
import ReelTerminal

/// Words of the command line that were replaced in 0.3. Each is accepted for one more version, hidden from help, and
/// answered with the new form.
enum FormerWords {
  static func tell(_ old: String, isNow new: String) {
    LongWait.tell("\"\(old)\" is \"\(new)\" now; the next version takes only that")
  }

  /// Warns about a command that replaces an existing file without having been asked to.
  static func tellReplaced(_ path: String) {
    LongWait.tell(
      "\(path) was there already, and is replaced; from the next version of Reel on, only --force replaces it"
    )
  }
}

/// The output path as an argument of its own, which is now given with `-o`.
struct FormerPlace: ParsableArguments {
  @Argument(help: .hidden, completion: .file(), transform: RawArguments.place)
  var place: String?

  /// - Parameters:
  ///   - output: the value of `-o`.
  ///   - missing: the message for when neither is given.
  func check(_ output: String?, missing: String) throws {
    guard let place else {
      guard output != nil else { throw ValidationError(missing) }
      return
    }
    if output != nil { throw ValidationError("unexpected argument '\(place)'") }
  }

  /// The value of `-o`, else the path given in the former way; empty where ``check(_:missing:)`` throws.
  func or(_ output: String?) -> String {
    guard let place, output == nil else { return output ?? "" }
    let path = place == "-" ? place : ShellWord.quoted(Array(place.utf8))
    FormerWords.tell(path, isNow: "-o \(path)")
    return place
  }
}
