import Foundation
import ReelCore
import ReelIngest
import ReelSandbox
import Testing
import ReelTestSupport

/// Checks that the pages under `docs/` agree with the code.
@Suite struct DocumentationTests {
  @Test func theExamplesOfLibraryMDAreThoseThatAreTested() throws {
    let tested = try TestedExamples.all()
    // Examples that need other packages are compiled only by scripts/check-client.
    let shown = try Page("library.md").blocks(of: "swift").filter {
      !$0.hasPrefix("// Package.swift") && !$0.hasPrefix("import Logging")
    }
    #expect(shown == tested)
    #expect(tested.count >= 9)
  }

  @Test func theProductsOfTheSnippetAreThoseOfThePackage() throws {
    let snippet = try #require(
      try Page("library.md").blocks(of: "swift").first { $0.hasPrefix("// Package.swift") })
    let manifest = try Page(path: "Package.swift").text
    for product in ["Reel", "ReelTesting"] {
      #expect(snippet.contains("name: \"\(product)\""))
      #expect(manifest.contains("\"\(product)\""))
    }
  }

  @Test func everyCodeHasARowInLibraryMD() throws {
    let page = try Page("library.md")
    #expect(page.firstCells(under: "### SourceError") == SourceError.Code.allCases.map(\.rawValue))
    #expect(page.firstCells(under: "### ProbeError") == ProbeError.Code.allCases.map(\.rawValue))
    #expect(page.firstCells(under: "### UploadError") == UploadError.Code.allCases.map(\.rawValue))
    #expect(page.firstCells(under: "### CatalogError") == CatalogError.Code.allCases.map(\.rawValue))
  }

  @Test func everyRuleOfTheDefaultPolicyHasARowInLibraryMD() throws {
    let noVideo = MediaInfo(container: .mp4, size: 1)
    var worst = noVideo
    worst.video = VideoFacts()
    worst.video?.hasSamples = false
    worst.truncated = true
    worst.external = true
    let rules = [noVideo, worst].flatMap { DefaultIntakePolicy().violations(in: $0) }.map(\.rule)
    #expect(try Page("library.md").firstCells(under: "### Rules") == rules)
  }

  @Test func everyLevelAndEveryRequestHasARowInSafetyMD() throws {
    let page = try Page("safety.md")
    #expect(page.firstCells(under: "### Levels") == IsolationLevel.allCases.map(\.rawValue))
    #expect(page.firstCells(under: "### --isolation") == IsolationRequest.allCases.map(\.rawValue))
  }

  /// The library's messages name settings, not flags. Flags belong to the command line.
  @Test func noMessageOfTheLibraryNamesAFlag() throws {
    let modules: Set = [
      "ReelCore", "ReelSource", "ReelSandbox", "ReelStorage", "ReelRemoteStorage", "ReelLibrary",
      "ReelPostgres", "ReelIngest",
    ]
    // Exempt are whole commands to be run, of other programs or of `reel`, the first line of a PEM file, and settings
    // that `ErrorMessage.Setting` does not have.
    let exempt = [
      "swift build", "aws configure", "--format env", "reel status", "\\(command: ", "(reel feed --presign)",
      "--rebuild", "Doctor/", "-----begin", "--no-conditional-puts", "--request-checksums", "with --from",
    ]
    let files = FileManager.default.enumerator(
      at: Page.folder("Sources"), includingPropertiesForKeys: nil)
    var seen: Set<String> = []
    for case let file as URL in try #require(files) where file.pathExtension == "swift" {
      let module = modules.intersection(file.pathComponents)
      guard !module.isEmpty else { continue }
      seen.formUnion(module)
      for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
        guard let quote = line.firstIndex(of: "\""), !line.contains("//") else { continue }
        // An app has no command to run again, either.
        #expect(!line[quote...].contains("command again"), "\(file.path): \(line)")
        guard line[quote...].contains("--"), line[quote...].contains(/--[a-z]{2}/) else { continue }
        let text = file.path + ": " + line
        #expect(exempt.contains { text.contains($0) }, "\(text)")
      }
    }
    #expect(seen == modules)
  }

  @Test func everyStepHasARowInPublishMD() throws {
    let rows = try Page("publish.md").firstCells(under: "## The steps of one file")
    #expect(rows == IntakeStep.allCases.map(\.rawValue))
  }
}

/// The parts of LibraryExamples.swift between `// example: NAME` and `// end`.
private enum TestedExamples {
  static func all() throws -> [String] {
    var found: [String] = []
    var open: [Substring]?
    for line in try Page(path: "Tests/ReelIngestTests/LibraryExamples.swift").lines {
      if line.hasPrefix("// example: ") {
        open = []
      } else if line == "// end", let lines = open {
        found.append(lines.joined(separator: "\n"))
        open = nil
      } else {
        open?.append(line)
      }
    }
    return found
  }
}

/// A file of the project as text.
struct Page {
  let text: String

  /// - Parameter name: The file name of a page in `docs`.
  init(_ name: String) throws {
    try self.init(path: "docs/" + name)
  }

  /// - Parameter path: The path relative to the project's folder.
  init(path: String) throws {
    text = try String(contentsOf: Self.folder(path), encoding: .utf8)
  }

  /// - Parameter path: The path relative to the project's folder.
  static func folder(_ path: String) -> URL {
    Checkout.root.appending(path: path)
  }

  var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }

  /// Returns the contents of the blocks between ```` ```language ```` and ```` ``` ````.
  func blocks(of language: String) -> [String] {
    var found: [String] = []
    var open: [Substring]?
    for line in lines {
      if let block = open, line == "```" {
        found.append(block.joined(separator: "\n"))
        open = nil
      } else if line == "```" + language {
        open = []
      } else {
        open?.append(line)
      }
    }
    return found
  }

  /// Returns the first cell of each row of the first table after `heading`, without its backquotes.
  func firstCells(under heading: String) -> [String] {
    let rows = lines.drop { $0 != heading }.dropFirst().drop { !$0.hasPrefix("|") }.prefix {
      $0.hasPrefix("|")
    }
    return rows.dropFirst(2).map { row in
      let cell = row.dropFirst().prefix { $0 != "|" }
      return cell.filter { $0 != "`" && $0 != " " }
    }
  }
}
