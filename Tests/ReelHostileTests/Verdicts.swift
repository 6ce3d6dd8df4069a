import Foundation
import ReelHostileFiles
import Testing

/// Compares answers with those permitted for each hostile file.
struct Verdicts {
  let files: [HostileFile]
  let answers: [Answer]

  /// A sentence for each violation; empty if there is none.
  /// - Parameter ok: The codes that count as `ok` here.
  func broken(ok: Set<String> = ["ok"]) -> [String] {
    let byPath = Dictionary(grouping: answers, by: \.path)
    let expected = Dictionary(uniqueKeysWithValues: files.map { ($0.path, $0) })
    let strays = byPath.keys.filter { expected[$0] == nil }
    return strays.map { "an answer to what nobody made: \(Self.text($0))" }
      + files.flatMap { broken($0, byPath[$0.path] ?? [], ok) }
  }

  private func broken(_ file: HostileFile, _ answers: [Answer], _ ok: Set<String>) -> [String] {
    let wanted = file.answers.contains("ok") ? file.answers.union(ok) : file.answers
    guard answers.count == (file.answers.isEmpty ? 0 : 1) else {
      return ["\(Self.text(file.path)) has \(answers.count) ends"]
    }
    return answers.filter { !wanted.contains($0.code) }.map {
      "\(Self.text(file.path)): \($0.code) (\($0.message)), not one of \(wanted.sorted())"
    } + answers.flatMap { implausible($0, of: file) }
  }

  /// Reports an answer that can't be true, whatever the file states.
  private func implausible(_ answer: Answer, of file: HostileFile) -> [String] {
    guard let media = answer.object["media"] as? [String: Any] else { return [] }
    var broken: [String] = []
    if let duration = media["duration"] as? Double, !(duration > 0 && duration < 31_536_000) {
      broken.append("\(Self.text(file.path)) lasts \(duration) s")
    }
    if let size = answer.shownSize,
      size.width < 1 || size.height < 1 || max(size.width, size.height) > 1 << 20
    {
      broken.append("\(Self.text(file.path)) is \(size.width)×\(size.height)")
    }
    if let title = media["title"] as? String, title.utf8.count > 64 << 10 {
      broken.append("\(Self.text(file.path)) has a title of \(title.utf8.count) bytes")
    }
    return broken
  }

  /// A truncated file that is read has the same picture size as the whole one, or an unknown one.
  func contradicting(_ whole: [String: Answer]) -> [String] {
    let byPath = Dictionary(answers.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
    return files.compactMap { file in
      guard let origin = file.origin, let size = byPath[file.path]?.shownSize,
        let known = whole[origin]?.shownSize,
        size != known
      else { return nil }
      return "\(Self.text(file.path)) is \(size), and whole it is \(known)"
    }
  }

  static func text(_ path: [UInt8]) -> String { String(decoding: path, as: UTF8.self).debugDescription }
}
