import Foundation
import Testing
import ReelTestSupport

/// The real files beside the project, with the facts on which two independent readers agree (`truth.tsv`).
struct Corpus: Sendable {
  let folder: String
  let files: [CorpusFile]

  /// The root folder of this package.
  static let package = Checkout.root.path

  /// The folder in `REEL_CORPUS`, otherwise `../shared/corpus` beside the package; nil if neither exists.
  static let beside: Corpus? = {
    let candidates = [ProcessInfo.processInfo.environment["REEL_CORPUS"], package + "/../shared/corpus"]
    return candidates.compactMap { $0 }.compactMap(Corpus.init).first
  }()

  init?(_ folder: String) {
    guard let table = try? String(contentsOfFile: folder + "/truth.tsv", encoding: .utf8) else { return nil }
    self.folder = folder
    files = table.split(separator: "\n").dropFirst().compactMap { CorpusFile(row: $0) }
  }

  func open(_ file: CorpusFile) -> OpenFile? { OpenFile(folder + "/" + file.path) }
}

/// A row of `truth.tsv`; unsettled facts are nil.
struct CorpusFile: Sendable, CustomTestStringConvertible {
  let path: String
  let kind: String?
  /// FFmpeg's name for the demuxer.
  let format: String
  let shownWidth: Int?
  let shownHeight: Int?
  let storedWidth: Int?
  let storedHeight: Int?
  let rotation: Int?
  let duration: Double?
  let frameRate: Double?

  var testDescription: String { path }

  /// Whether the container is one that Reel accepts.
  var isReels: Bool {
    let formats = [
      "mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm", "mpegts", "mpeg", "flv", "avi", "ogg", "asf", "mxf",
    ]
    return formats.contains(format)
  }

  init?(row: Substring) {
    let cells = row.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    guard cells.count >= 10, !cells[0].isEmpty else { return nil }
    path = cells[0]
    kind = cells[1].isEmpty ? nil : cells[1]
    format = cells[2]
    storedWidth = Int(cells[4])
    storedHeight = Int(cells[5])
    shownWidth = Int(cells[6])
    shownHeight = Int(cells[7])
    rotation = Int(cells[8])
    duration = Double(cells[9])
    frameRate = cells.count > 10 ? Double(cells[10]) : nil
  }
}
