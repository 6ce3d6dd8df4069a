import ReelLibrary
import ReelTerminal

/// Says on standard error what a run waits for, so that nobody takes it for a hang.
enum LongWait {
  /// One line, over whatever line is being drawn there.
  static func tell(_ hold: LockHolder) {
    let clearing = TerminalTraits.standardError().isTerminal ? "\r\u{1B}[2K" : ""
    // Who does not read what we say waits all the same.
    try? OutputStream.standardError.write(clearing + "reel: " + hold.sentence + "\n")
  }
}
