import ArgumentParser
import Foundation
import ReelTestSupport
import Testing

@testable import ReelTool

/// The commands in the documentation.
@Suite("Documented commands", .ownThread) struct DocumentedCommandTests {
  static let pages: [String] = {
    let root = Checkout.root
    let docs = (try? FileManager.default.contentsOfDirectory(atPath: root.path + "/docs")) ?? []
    return ["README.md"] + docs.filter { $0.hasSuffix(".md") }.sorted().map { "docs/" + $0 }
  }()

  @Test("reel understands every command of a page", arguments: pages)
  func isUnderstood(page: String) throws {
    for (line, words) in try Page(page).commands() {
      do {
        // A shell expands the tilde.
        let expanded = words.map { $0.hasPrefix("~/") ? "/home/ada" + $0.dropFirst() : $0 }
        _ = try ReelTool.parseAsRoot(RawArguments.prepared(expanded))
        #expect(!Self.isFormer(words), "\(page): \(line)")
      } catch {
        // To the parser, a request for help or the version is an error.
        if ReelTool.exitCode(for: error).isSuccess { continue }
        Issue.record("\(page): \(line)\n\(ReelTool.fullMessage(for: error))")
      }
    }
  }

  /// Whether a command has the syntax from before 0.3, which is still accepted.
  private static func isFormer(_ words: [String]) -> Bool {
    func begins(_ commands: String...) -> Bool { commands.contains { $0 == words.first } }
    return begins("export", "backup", "page") && !words.contains("-o") && !words.contains("--help")
      || begins("mend", "lock") && words.contains("--to")
      || begins("poster", "sheet", "lock") && !Set(words).isDisjoint(with: ["--overwrite", "--update"])
  }

  /// A command named in running text may omit what is clear from the context.
  @Test("every command named in a sentence exists, with its flags", arguments: pages)
  func exists(page: String) throws {
    for words in try Page(page).mentions() {
      do {
        _ = try ReelTool.parseAsRoot(RawArguments.prepared(words))
      } catch {
        let message = ReelTool.fullMessage(for: error)
        let isLeftOut = ["Missing", "missing", "Usage", "name ", "say wh", "FILE ends"].contains {
          message.dropFirst("Error: ".count).hasPrefix($0)
        }
        if ReelTool.exitCode(for: error).isSuccess || isLeftOut { continue }
        Issue.record("\(page): reel \(words.joined(separator: " "))\n\(message)")
      }
    }
  }

  @Test func manyAreThere() throws {
    let count = try Self.pages.map { try Page($0).commands().count }.reduce(0, +)
    #expect(count > 100)
  }

  /// The commands are run from top to bottom in one shell, as a reader would run them.
  @Test(
    "the commands of a page print what it shows", .notQuick,
    arguments: [("README.md", "/tmp/demo"), ("docs/tutorial.md", "/tmp/first")])
  func printsWhatIsShown(page: String, place: String) async throws {
    let bench = try Workbench()
    let folder = bench.folder.appendingPathComponent("place").path
    let marks = bench.folder.appendingPathComponent("marks").path
    try FileManager.default.createDirectory(atPath: marks, withIntermediateDirectories: false)
    // Each step writes its output to a file. The shell keeps its folder and its variables from one step to the next.
    var script = "exec </dev/null; export COLUMNS=400; cd \(Checkout.root.path)\n"
    let steps = try Page(page).steps()
    for (index, step) in steps.enumerated() {
      // The feed's table is made as narrow as on the page.
      var text = step.command.replacing(place, with: folder)
      if text.hasPrefix("reel feed") { text = "(export COLUMNS=80; \(text))" }
      script += "{ \(text)\n} >\(marks)/\(index) 2>&1; echo $? >\(marks)/\(index).status\n"
    }
    let outcome = try await ReelBinary.runProgram(
      "/bin/bash", ["-c", script], in: bench.folder,
      environment: ["PATH": ReelBinary.folder.path + ":/usr/bin:/bin"])
    #expect(outcome.status == 0, "\(outcome)")
    var compared = 0
    for (index, step) in steps.enumerated() {
      let printed = try String(contentsOfFile: "\(marks)/\(index)", encoding: .utf8)
        .replacing(folder, with: place).withoutProgress
      let status = try String(contentsOfFile: "\(marks)/\(index).status", encoding: .utf8)
      // The pages include files that nobody can use. Nothing else fails.
      let expected = ["refused: ", "failed: "].contains(where: printed.hasPrefix) ? "4\n" : "0\n"
      #expect(status == expected, "\(step.command): \(status)\(printed)")
      guard let shown = step.output else { continue }
      compared += 1
      let (wanted, found) = (Page.lasting(shown), Page.lasting(printed))
      let all = found.joined(separator: " ")
      if wanted.last == "…" {
        #expect(all.hasPrefix(wanted.dropLast().joined(separator: " ")), "\(step.command)")
      } else if step.isPart {
        for line in wanted { #expect(all.contains(line), "\(step.command)") }
      } else {
        // Several files are read at once, so their lines come in any order.
        #expect(
          all.split(separator: " ").sorted() == wanted.joined(separator: " ").split(separator: " ").sorted(),
          "\(step.command)")
      }
    }
    #expect(compared >= 3)
  }
}

/// A page's fenced blocks.
private struct Page {
  struct Step {
    var command: String
    var output: String?
    /// Whether the page shows only some of the lines.
    var isPart = false
  }

  private let blocks: [(language: String, text: String)]
  /// The text outside of the blocks.
  private let text: String

  init(_ path: String) throws {
    let text = try String(contentsOf: Checkout.root.appending(path: path), encoding: .utf8)
    var (blocks, open): ([(language: String, text: String)], (language: String, lines: [Substring])?) = (
      [], nil
    )
    var outside: [Substring] = []
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let bare = line.drop { $0 == " " }
      if bare.hasPrefix("```") {
        if let block = open {
          blocks.append((block.language, block.lines.joined(separator: "\n")))
          open = nil
        } else {
          open = (String(bare.dropFirst(3)), [])
        }
      } else if open == nil {
        outside.append(line)
      } else {
        open?.lines.append(line)
      }
    }
    self.blocks = blocks
    self.text = outside.joined(separator: "\n")
  }

  // MARK: Commands to parse

  /// Returns the words of each command of `reel`, with the line that has it. Variables and patterns are not expanded.
  func commands() -> [(line: String, words: [String])] {
    var found: [(String, [String])] = []
    for block in blocks where ["", "sh", "bash", "console"].contains(block.language) {
      var text = block.text.replacing("\\\n", with: " ")
      if let here = text.range(of: "<<") { text = String(text[..<here.lowerBound]) }
      let isDialogue = text.hasPrefix("$ ")
      for line in text.split(separator: "\n") where !isDialogue || line.hasPrefix("$ ") {
        let typed = line.hasPrefix("$ ") ? line.dropFirst(2) : line
        for words in Self.pipeline(String(typed)) {
          // Skips settings before a command, and programs that run it.
          let rest = words.drop { $0.contains("=") && !$0.hasPrefix("-") || $0 == "sudo" || $0 == "time" }
          guard rest.first == "reel", rest.count > 1, !line.contains("…"),
            !rest.contains(where: Self.isSchematic)
          else {
            continue
          }
          found.append((String(line), Array(rest.dropFirst())))
        }
      }
    }
    return found
  }

  /// Returns the words of each command of `reel` in a sentence or a table.
  func mentions() -> [[String]] {
    text.matches(of: /`reel (?<words>[^`\n]+)`/).compactMap { match in
      let words = Self.pipeline("reel " + match.output.words.replacing("\\|", with: "|"))[0]
      let isWhole = !match.output.words.contains("…") && !words.contains(where: Self.isSchematic)
      return isWhole && words.count > 1 ? Array(words.dropFirst()) : nil
    }
  }

  /// Whether a word is a placeholder or stands for several alternatives.
  private static func isSchematic(_ word: String) -> Bool {
    word == "..." || word.hasPrefix("[") || word.hasPrefix("<") || word.contains("|")
  }

  /// Splits a line into commands, each as a list of words.
  private static func pipeline(_ line: String) -> [[String]] {
    var (commands, words, word): ([[String]], [String], String?) = ([], [], nil)
    var quote: Character?
    var characters = Array(line)[...]
    func isEnd(_ character: Character) -> Bool { "|;&()<>".contains(character) }
    while let character = characters.popFirst() {
      if let open = quote {
        if character == open {
          quote = nil
        } else if character == "\\", open == "\"", let next = characters.popFirst() {
          word = (word ?? "") + String(next)
        } else {
          word = (word ?? "") + String(character)
        }
      } else if character == "'" || character == "\"" {
        (quote, word) = (character, word ?? "")
      } else if character == "\\", let next = characters.popFirst() {
        word = (word ?? "") + String(next)
      } else if character == "#", word == nil {
        break
      } else if character.isWhitespace || isEnd(character) {
        if let end = word { words.append(end) }
        word = nil
        guard isEnd(character) else { continue }
        if character == "<" || character == ">" {
          // The file's name and the descriptor's number are not words of the command.
          if words.last.map({ $0 == "2" }) == true { words.removeLast() }
          while let next = characters.first, " &>".contains(next) { characters.removeFirst() }
          while let next = characters.first, !next.isWhitespace, !isEnd(next) { characters.removeFirst() }
        } else {
          commands.append(words)
          words = []
        }
      } else {
        word = (word ?? "") + String(character)
      }
    }
    if let end = word { words.append(end) }
    return commands + [words]
  }

  // MARK: Commands to run

  /// Returns the commands in order, each with the output shown for it. Commands that install Reel are omitted, and so
  /// are lists of examples in blocks without `$` (`reel … # what it does`).
  func steps() -> [Step] {
    var steps: [Step] = []
    for block in blocks {
      let lines = block.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
      if lines.first?.hasPrefix("$ ") == true {
        steps.append(
          Step(command: String(lines[0].dropFirst(2)), output: lines.dropFirst().joined(separator: "\n")))
      } else if lines.count(where: { $0.contains("   # ") }) > 3 || block.text.contains("scripts/")
        || block.text.contains("apt install")
      {
        continue
      } else if let first = lines.first, ["reel", "cp", "mkdir", "cat"].contains(first.prefix { $0 != " " }) {
        steps.append(Step(command: block.text))
      } else if !steps.isEmpty, steps[steps.count - 1].output == nil {
        steps[steps.count - 1].output = block.text
        steps[steps.count - 1].isPart = !steps[steps.count - 1].command.hasPrefix("reel ingest")
      }
    }
    return steps
  }

  /// Returns the lines without what varies between runs, the progress bar, and a terminal's line breaks.
  static func lasting(_ text: String) -> [String] {
    let ids = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/
    let bar = /^[0-9]+\/[0-9]+…?\ +files\ .*/
    return text.split(separator: "\n").map { line in
      String(line)
        .replacing(bar, with: "")
        .replacing(ids, with: "ID")
        .replacing(/\ in\ [0-9.]+\ m?s(\ \([0-9.]+\ .?B\/s\))?/, with: " in TIME")
        .replacing(/^\([0-9.]+\ .?B\/s\)$/, with: "")
        .replacing(/[0-9A-Za-z]{22}\.mp4/, with: "NAME.mp4")
        .replacing(/libavformat\ [0-9.]+, header, isolation.*/, with: "libavformat VERSION")
        .replacing(/^\ *[0-9]+\ +ID\ .*/, with: "POST")
        .replacing(/^number\ +[0-9]+\ in/, with: "number N in")
        .split(separator: /\ +/).joined(separator: " ")
    }.filter { !$0.isEmpty }
  }
}
