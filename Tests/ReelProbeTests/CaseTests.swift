import Foundation
import ReelCore
import ReelProbe
import Testing

/// Files about which users of other tools reported a fault, with the true facts (`../shared/cases/cases.tsv`).
@Suite(.enabled(if: Case.all != nil, "needs ../shared/cases"))
struct CaseTests {
  @Test(arguments: Case.all ?? []) func isTrue(row: Case) throws {
    let file = try #require(OpenFile(Case.folder + "/" + row.file))
    let result = Result { try file.read(as: try #require(file.sniffed)) }
    if row.fact == "!error" {
      if case .failure(let error as ProbeError) = result { #expect(error.code.rawValue != row.right[0]) }
      return
    }
    let media = try result.get().media
    if row.fact == "warnings" {
      return #expect(media.warnings.contains { $0.code.rawValue == row.right[0] })
    }
    if row.fact == "createdAt" {
      let told = media.createdAt.map { ISO8601DateFormatter().string(from: $0) } ?? "null"
      return #expect(row.right.contains(told), "\(told), not \(row.right)")
    }
    let document = try JSONSerialization.jsonObject(with: JSONEncoder().encode(media))
    let told = Case.text(
      row.fact.split(separator: ".").reduce(document as Any?) { Case.step($0, String($1)) })
    #expect(row.right.contains { row.allows(told, $0) }, "\(told), not \(row.right)")
  }
}

struct Case: Sendable, CustomTestStringConvertible {
  let file: String
  let kind: String
  let fact: String
  let right: [String]
  let tolerance: Double?

  var testDescription: String { "\(kind) \(file) \(fact)" }

  static let folder = Corpus.package + "/../shared/cases/probe"

  static let all: [Case]? = (try? String(contentsOfFile: folder + "/cases.tsv", encoding: .utf8))?
    .split(separator: "\n").dropFirst().compactMap { Case(row: $0) }

  private init?(row: Substring) {
    let cells = row.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    guard cells.count >= 5 else { return nil }
    (file, kind, fact) = (cells[0], cells[1], cells[2])
    right = cells[3].split(separator: ",").map(String.init)
    tolerance = Double(cells[4])
  }

  func allows(_ told: String, _ truth: String) -> Bool {
    if told == truth { return true }
    guard let tolerance, let number = Self.number(told), let right = Self.number(truth) else { return false }
    return abs(number - right) <= tolerance
  }

  /// Parses a number, or a ratio of two.
  private static func number(_ text: String) -> Double? {
    let parts = text.split(separator: "/").compactMap { Double($0) }
    return parts.count == 2 ? parts[0] / parts[1] : Double(text)
  }

  static func step(_ value: Any?, _ key: String) -> Any? {
    if let list = value as? [Any], let place = Int(key) {
      return list.indices.contains(place) ? list[place] : nil
    }
    return (value as? [String: Any])?[key]
  }

  static func text(_ value: Any?) -> String {
    switch value {
    case nil, is NSNull: "null"
    case let object as [String: Any]: text(object["kind"])
    case let number as NSNumber where CFBoolean.isBoolean(number): number.boolValue ? "true" : "false"
    default: value.map { "\($0)" } ?? "null"
    }
  }
}

private enum CFBoolean {
  static func isBoolean(_ number: NSNumber) -> Bool { String(cString: number.objCType) == "c" }
}
