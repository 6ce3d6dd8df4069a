import ArgumentParser
import ReelCore
import ReelTerminal

/// Words of the command line that were replaced in 0.3. Each is taken for one more version, hidden from help, and answered
/// with the new way.
enum FormerWords {
  static func tell(_ old: String, isNow new: String) {
    LongWait.tell("\"\(old)\" is \"\(new)\" now; the next version takes only that")
  }

  /// Of a command that replaced what is there without being asked.
  static func tellReplaced(_ path: String) {
    LongWait.tell(
      "\(path) was there already, and is replaced; from the next version of Reel on, only --force replaces it"
    )
  }
}

/// The place that a command wrote to by the word behind it, where `-o` stands now.
struct FormerPlace: ParsableArguments {
  @Argument(help: .hidden, completion: .file(), transform: RawArguments.place)
  var place: String?

  /// - Parameters:
  ///   - output: of `-o`.
  ///   - missing: what to do where neither is given.
  func check(_ output: String?, missing: String) throws {
    guard let place else {
      guard output != nil else { throw ValidationError(missing) }
      return
    }
    if output != nil { throw ValidationError("unexpected argument '\(place)'") }
  }

  /// What `-o` says, else what was said in the former way; empty where ``check(_:missing:)`` throws.
  func or(_ output: String?) -> String {
    guard let place, output == nil else { return output ?? "" }
    let path = place == "-" ? place : ShellWord.quoted(Array(place.utf8))
    FormerWords.tell(path, isNow: "-o \(path)")
    return place
  }
}
