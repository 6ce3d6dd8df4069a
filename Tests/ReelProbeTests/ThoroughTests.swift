import Foundation
import ReelCore
import ReelProbe
import ReelTestSupport
import Testing

/// The quick answer is compared with the thorough one: every fact is the same, or has a warning that names the claim
/// that was not checked against the content.
@Suite(.notQuick) struct ThoroughTests {
  @Test(arguments: ["clips", "broken"]) func samples(folder: String) throws {
    let samples = Corpus.package + "/Samples/" + folder
    for name in try FileManager.default.contentsOfDirectory(atPath: samples).sorted() {
      expectQuickIsThorough(try #require(OpenFile(samples + "/" + name)), name)
    }
  }

  @Test(.enabled(if: Corpus.beside != nil, "needs ../shared/corpus or REEL_CORPUS")) func corpus() throws {
    let corpus = try #require(Corpus.beside)
    for row in corpus.files { expectQuickIsThorough(try #require(corpus.open(row)), row.path) }
  }

  @Test(.enabled(if: Case.all != nil, "needs ../shared/cases"))
  func cases() throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: Case.folder).sorted() {
      expectQuickIsThorough(try #require(OpenFile(Case.folder + "/" + name)), name)
    }
  }

  @Test(.needsFFmpeg, arguments: Recipe.all)
  func recipes(recipe: Recipe) throws {
    let file = try FFmpegTool.make(
      recipe.name, FFmpegTool.picture + FFmpegTool.tone + ["-pix_fmt", "yuv420p"] + recipe.arguments)
    expectQuickIsThorough(file, recipe.name)
  }

  @Test(.needsFFmpeg, arguments: Recipe.all)
  func everyFactHasItsEvidence(recipe: Recipe) throws {
    let file = try FFmpegTool.make(
      recipe.name, FFmpegTool.picture + FFmpegTool.tone + ["-pix_fmt", "yuv420p"] + recipe.arguments)
    let reading = try file.read(as: recipe.container, by: [.thorough])
    #expect(reading.method == .thorough)
    let sources = Dictionary(reading.evidence.map { ($0.fact, $0.source) }) { first, _ in first }
    #expect(sources.count == reading.evidence.count, "a fact is named twice")
    let times: FactEvidence.Source = recipe.container.isISO ? .index : .packets
    #expect(sources["duration"] == times)
    #expect(sources["video.frameRate"] == times)
    #expect(sources["video.storedWidth"] == .decoder)
    #expect(
      Self.facts(in: try JSONSerialization.jsonObject(with: JSONEncoder().encode(reading.media))).subtracting(
        sources.keys) == [])
  }

  /// The paths of all reported values, except the warnings.
  private static func facts(in value: Any, _ path: String = "") -> Set<String> {
    let parts: [(String, Any)]
    if let object = value as? [String: Any] {
      parts = object.filter { $0.key != "warnings" }.map { ($0.key, $0.value) }
    } else if let list = value as? [Any] {
      parts = list.enumerated().map { ("\($0.offset)", $0.element) }
    } else {
      return [path]
    }
    return parts.reduce(into: []) { $0.formUnion(facts(in: $1.1, path.isEmpty ? $1.0 : path + "." + $1.0)) }
  }
}

func expectQuickIsThorough(_ file: OpenFile, _ name: String) {
  guard let container = file.sniffed else { return }
  let quick = Result { try file.read(as: container) }
  let thorough = Result { try file.read(as: container, by: [.thorough]) }
  switch (quick, thorough) {
  case (.success(let quick), .success(let thorough)):
    let wrong = LieVerdict(truth: thorough.media, answer: quick.media).silent(after: [])
    #expect(wrong.isEmpty, "\(name): \(wrong), by \(quick.method)")
  case (.failure, .failure): break
  default: Issue.record("\(name): \(quick), thoroughly \(thorough)")
  }
}
