import ArgumentParser
import CProcess
import Glibc
import ReelCore

/// The command line as strings that lose no bytes. The argument parser takes strings, and Swift's strings replace bytes
/// that are not UTF-8, so that a path would become another path. Here each such byte becomes a scalar, U+10FF00 plus
/// the byte, and so does each byte of a character of the argument that is itself in that range.
enum RawArguments {
  private static let standIns: ClosedRange<Unicode.Scalar> = "\u{10FF80}"..."\u{10FFFF}"

  /// The arguments of this process for the parser, without the program's name. `CommandLine` has none without `/proc`.
  static func ofThisProcess() -> [String] {
    (1..<max(1, reel_arguments_count())).compactMap { index in
      reel_argument(index).map { argument in
        text(of: UnsafeBufferPointer(start: argument, count: strlen(argument)).map(UInt8.init(bitPattern:)))
      }
    }
  }

  /// The string that stands for an argument of these bytes, for the parser.
  static func text(of bytes: [UInt8]) -> String {
    var text = String.UnicodeScalarView()
    var rest = bytes[...]
    while let first = rest.first {
      if let (scalar, length) = SourcePath.leadingScalar(of: rest), !standIns.contains(scalar) {
        text.append(scalar)
        rest = rest.dropFirst(length)
      } else {
        if let standIn = Unicode.Scalar(0x10_FF00 + UInt32(first)) { text.append(standIn) }
        rest = rest.dropFirst()
      }
    }
    return String(text)
  }

  /// The bytes of an argument, or of a text that quotes arguments, as the parser returned it.
  static func bytes(of text: String) -> [UInt8] {
    text.unicodeScalars.flatMap { scalar in
      standIns.contains(scalar) ? [UInt8(truncatingIfNeeded: scalar.value)] : Array(scalar.utf8)
    }
  }

  /// The path that the parser gave as `text`.
  static func path(_ text: String) -> SourcePath {
    SourcePath(bytes: bytes(of: text))
  }

  /// The paths that the parser gave as `texts`.
  static func paths(_ texts: [String]) -> [SourcePath] {
    texts.flatMap { $0.split(separator: separator, omittingEmptySubsequences: false) }.map {
      path(String($0))
    }
  }

  /// Joins most of a long row of files into one value, which ``paths(_:)`` splits again. The parser's time grows with
  /// the square of the number of values: two seconds for 10,000 files.
  static func gatheringFiles(_ arguments: [String]) -> [String] {
    guard arguments.count > longRow, filesCommands.contains(arguments[0]) else { return arguments }
    var gathered: [String] = []
    var rest = arguments[...]
    while let first = rest.first {
      let row = rest.prefix { $0.utf8.first.map { $0 != UInt8(ascii: "-") } ?? false }
      if row.count > longRow {
        // The first may be the command or the value of an option.
        gathered += row.prefix(2)
        gathered.append(row.dropFirst(2).joined(separator: String(separator)))
      } else {
        gathered += row.isEmpty ? [first] : Array(row)
      }
      rest = rest.dropFirst(max(1, row.count))
    }
    return gathered
  }

  /// Completes `--posters` without a value. The parser has no options whose value is optional, so `--posters` that is
  /// not followed by one of its values (`required`, `none`) becomes `--posters=wanted`.
  static func completingPosters(_ arguments: [String]) -> [String] {
    let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
    return arguments.indices.map { index in
      let isComplete = index + 1 < end && PostersChoice(rawValue: arguments[index + 1]) != nil
      return index < end && arguments[index] == "--posters" && !isComplete
        ? "--posters=\(PostersChoice.wanted.rawValue)" : arguments[index]
    }
  }

  /// The arguments as the parser needs them.
  static func prepared(_ arguments: [String]) -> [String] {
    gatheringFiles(completingPosters(readingPriority(arguments)))
  }

  /// A minus sign that the parser does not take for the beginning of an option.
  static let minus = "\u{2212}"

  /// Replaces the minus of a negative number in `reel queue priority -1`, which the parser would take for an option.
  static func readingPriority(_ arguments: [String]) -> [String] {
    guard arguments.starts(with: ["queue", "priority"]) else { return arguments }
    let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
    return arguments.indices.map { index in
      index < end && arguments[index].hasPrefix("-") && Int(arguments[index]) != nil
        && (!arguments[index - 1].hasPrefix("--") || ["--dry-run", "--json"].contains(arguments[index - 1]))
        ? minus + arguments[index].dropFirst() : arguments[index]
    }
  }

  /// The last `--color` among the arguments; nil where there is none, or its value is not valid.
  static func color(in arguments: [String]) -> ColorChoice? {
    let options = arguments.prefix { $0 != "--" }
    return options.indices.reversed().lazy.compactMap { index -> ColorChoice? in
      if options[index].hasPrefix("--color=") {
        return ColorChoice(rawValue: String(options[index].dropFirst("--color=".count)))
      }
      guard options[index] == "--color", index + 1 < options.endIndex else { return nil }
      return ColorChoice(rawValue: options[index + 1])
    }.first
  }

  private static let longRow = 32
  private static let filesCommands = [
    "probe", "ingest", "validate", "mend", "poster", "sheet", "lock", "enqueue", "watch", "remove", "edit",
    "move",
    "restore",
  ]
  /// A character that no argument can contain.
  private static let separator: Character = "\0"

  // MARK: Values that must be text

  /// Reads the value of an option that is kept or used as text.
  /// - Throws: when it is not UTF-8, or ends as a line does on Windows.
  static func text(_ argument: String) throws -> String {
    guard argument.unicodeScalars.last != "\r" else {
      throw ValidationError(
        "it ends with a carriage return, as the lines of a script that Windows saved; give the script Unix line ends"
      )
    }
    guard let text = String(validating: bytes(of: argument), as: UTF8.self) else {
      throw ValidationError("it is not UTF-8, and Reel accepts only UTF-8 here")
    }
    return text
  }

  /// Reads the value of an option that names a file, a folder or a destination of Reel's own, all of which are kept as
  /// text. (Files to ingest, and lists of them, may have any name.)
  /// - Throws: when it is not UTF-8, is empty, or begins with a `~` that no shell has expanded.
  static func place(_ argument: String) throws -> String {
    guard !argument.isEmpty else {
      throw ValidationError("it is empty; give it a name, or leave the option out")
    }
    guard String(validating: bytes(of: argument), as: UTF8.self) != nil else {
      throw ValidationError("its name is not UTF-8; rename it, or name a link to it whose name is UTF-8")
    }
    let text = try text(argument)
    if let problem = ShellWord.unexpandedHome(in: text) { throw ValidationError(problem) }
    return text
  }
}
