import Foundation
import ReelCore
import ReelProbe
import Testing
import ReelTestSupport

/// Every way that can read a file must tell the same of it, field by field.
struct ThreeWaysTests {
  private static let samples = Checkout.root.appendingPathComponent("Samples")

  @Test(arguments: ["clips", "broken"]) func allWaysAgreeOnEverySample(folder: String) throws {
    var methods: [ProbeMethod: Int] = [:]
    let names = try FileManager.default.contentsOfDirectory(atPath: Self.samples.path + "/" + folder)
    for name in names.sorted() {
      let file = try #require(OpenFile(Self.samples.path + "/" + folder + "/" + name))
      for method in expectAllWaysAgree(on: file, name) { methods[method, default: 0] += 1 }
    }
    #expect(folder == "broken" || methods[.header, default: 0] > 10)
    #expect(folder == "broken" || methods[.packets, default: 0] > 10)
  }

  @Test(.enabled(if: Corpus.beside != nil, "needs ../shared/corpus or REEL_CORPUS"))
  func allWaysAgreeOnEveryFile() throws {
    let corpus = try #require(Corpus.beside)
    var methods: [ProbeMethod: Int] = [:]
    for row in corpus.files {
      let file = try #require(corpus.open(row))
      for method in expectAllWaysAgree(on: file, row.path) { methods[method, default: 0] += 1 }
    }
    #expect(methods[.header, default: 0] > 0)
    #expect(methods[.packets, default: 0] > 0)
  }

  /// `REEL_MORE_FILES`: a folder of any files.
  @Test(.enabled(if: ProcessInfo.processInfo.environment["REEL_MORE_FILES"] != nil, "needs REEL_MORE_FILES"))
  func allWaysAgreeOnMoreFiles() throws {
    let folder = try #require(ProcessInfo.processInfo.environment["REEL_MORE_FILES"])
    for name in FileManager.default.enumerator(atPath: folder)?.compactMap({ $0 as? String }) ?? [] {
      guard let file = OpenFile(folder + "/" + name), file.size > 0 else { continue }
      expectAllWaysAgree(on: file, name)
    }
  }
}

/// Reads the file in full, by its packets, and as it is read by itself. Gives the ways that could be taken.
@discardableResult
func expectAllWaysAgree(on file: OpenFile, _ name: String) -> Set<ProbeMethod> {
  guard let container = file.sniffed else { return [] }
  let full = file.result(as: container, by: [.full])
  var methods: Set<ProbeMethod> = []
  for ways in [FFmpegReader.quickWays, [.packets]] {
    let quick = file.result(as: container, by: ways)
    switch (quick, full) {
    case (.success(let quick), .success(let full)):
      methods.insert(quick.method)
      for difference in differences(quick.media, full.media) {
        Issue.record("\(name): \(difference), by \(quick.method)")
      }
    case (.failure(let quick), .failure(let full)): #expect(quick == full, "\(name)")
    default: Issue.record("\(name): \(quick), in full \(full)")
    }
  }
  return methods
}

extension OpenFile {
  fileprivate func result(
    as container: MediaContainer, by ways: Set<ProbeMethod>
  ) -> Result<Reading, ProbeError> {
    do throws(ProbeError) { return .success(try read(as: container, by: ways)) } catch {
      return .failure(error)
    }
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
    left == right ? nil : "\(left.0): \(left.1), in full \(right.1)"
  } + (quick == full ? [] : ["they are not equal"])
}
