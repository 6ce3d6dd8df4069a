import Foundation
import ReelModel
import ReelSniffer
import Testing

/// Real files, where there are some: `REEL_CORPUS` names the folder that holds `truth.tsv`.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["REEL_CORPUS"] != nil, "REEL_CORPUS is not set"))
struct CorpusTests {
  @Test("every file that two readers call a video has a container or is a raw stream")
  func videos() throws {
    let corpus = URL(filePath: ProcessInfo.processInfo.environment["REEL_CORPUS"] ?? "/")
    let lines = try String(contentsOf: corpus.appending(path: "truth.tsv"), encoding: .utf8).split(
      separator: "\n")
    for line in lines.dropFirst() {
      let cells = line.split(separator: "\t", omittingEmptySubsequences: false)
      guard let path = cells.first else { continue }
      let head = try Data(contentsOf: corpus.appending(path: String(path))).prefix(Sniffer.headLength)
      let verdict = Sniffer.verdict(head: [UInt8](head), size: Int64(head.count))
      print(path, cells.dropFirst().prefix(2).joined(separator: " "), "|", verdict)
    }
  }
}
