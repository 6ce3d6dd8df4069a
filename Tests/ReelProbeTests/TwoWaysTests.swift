import Foundation
import ReelCore
import ReelProbe
import Testing

/// The header alone and the full reading must tell the same, field by field.
struct TwoWaysTests {
  private static let samples = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Samples")

  @Test(arguments: ["clips", "broken"]) func bothWaysAgreeOnEverySample(folder: String) throws {
    var byHeader = 0
    let names = try FileManager.default.contentsOfDirectory(atPath: Self.samples.path + "/" + folder)
    for name in names.sorted() {
      let file = try #require(OpenFile(Self.samples.path + "/" + folder + "/" + name))
      guard let container = file.sniffed, let quick = try? file.read(as: container) else { continue }
      if quick.method == .header { byHeader += 1 }
      let full = try file.read(as: container, alwaysFull: true)
      #expect(differences(quick.media, full.media) == [], "\(name)")
    }
    #expect(folder == "broken" || byHeader > 10)
  }

  @Test(.enabled(if: Corpus.beside != nil, "needs ../shared/corpus or REEL_CORPUS"))
  func bothWaysAgreeOnEveryFile() throws {
    let corpus = try #require(Corpus.beside)
    var byHeader = 0
    for row in corpus.files {
      let file = try #require(corpus.open(row))
      guard let container = file.sniffed,
        let quick = try? file.read(as: container), quick.method == .header
      else { continue }
      byHeader += 1
      let full = try file.read(as: container, alwaysFull: true)
      for difference in differences(quick.media, full.media) {
        Issue.record("\(row.path): \(difference)")
      }
    }
    #expect(byHeader > 0)
  }
}

/// Every field by which two answers differ.
func differences(_ quick: MediaInfo, _ full: MediaInfo) -> [String] {
  func flat(_ value: Any, _ name: String) -> [(String, String)] {
    let children = Mirror(reflecting: value).children
    if children.isEmpty || value is any CustomStringConvertible { return [(name, "\(value)")] }
    return children.flatMap { flat($0.value, name + "." + ($0.label ?? "")) }
  }
  return zip(flat(quick, ""), flat(full, "")).compactMap { left, right in
    left == right ? nil : "\(left.0): \(left.1) by the header, \(right.1) in full"
  } + (quick == full ? [] : ["they are not equal"])
}
