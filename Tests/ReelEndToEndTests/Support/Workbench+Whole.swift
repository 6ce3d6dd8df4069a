import Foundation
import Testing

extension Workbench {
  var hasCatalog: Bool {
    FileManager.default.fileExists(atPath: library.appendingPathComponent("catalog.sqlite").path)
  }

  /// Checks the invariants, and that every post reported in `events` exists.
  func expectKept(announcedIn events: String, _ comment: Comment) async throws {
    let file = folder.appendingPathComponent(events)
    let text = (try? String(decoding: Data(contentsOf: file), as: UTF8.self)) ?? ""
    let announced = Announcements(text).keys
    guard hasCatalog else {
      #expect(announced.isEmpty, comment)
      return
    }
    let inspection = try LibraryInspection(library: library)
    expectNothing(try inspection.broken(), comment)
    expectNothing(inspection.missing(of: announced), comment)
  }

  /// Returns the object names of all posts reported in these files of events. A missing file reports nothing.
  func told(in files: [String]) throws -> Set<String> {
    files.reduce(into: []) { told, name in
      let text = try? String(decoding: Data(contentsOf: folder.appendingPathComponent(name)), as: UTF8.self)
      told.formUnion(Announcements(text ?? "").keys)
    }
  }

  /// Runs the same batch again, and checks that each of `count` videos is then one post, and that nothing is left over.
  /// - Parameter fixing: Whether `reel doctor --fix` may remove objects under names that were given up.
  func expectWhole(
    _ count: Int, _ comment: Comment, environment: [String: String] = [:], fixing: Bool = false
  ) async throws {
    let again = try await reel("ingest", clips.path, environment: environment)
    #expect(again.status == 0, "\(again.errors) after \(comment)")
    if fixing {
      let told = try await reel("doctor", environment: environment)
      let others = told.output.split(separator: "\n").filter {
        $0.hasPrefix("found:") && !$0.contains("[object.given-up]")
      }
      #expect(others == [], "\(told) after \(comment)")
      _ = try await reel("doctor", "--fix", environment: environment)
    }
    let whole = try LibraryInspection(library: library)
    expectNothing(try whole.brokenAfterCompletion(), comment)
    #expect(whole.published.count == count, comment)
  }
}

/// The posts reported in a stream of events. A truncated last line does not count.
struct Announcements {
  /// The names of the objects.
  let keys: Set<String>

  init(_ text: String) {
    keys = Set(
      text.split(separator: "\n").compactMap { line -> String? in
        let event = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        guard event?["type"] as? String == "post.published" else { return nil }
        return (event?["post"] as? [String: Any])?["video"] as? String
      })
  }
}

extension LibraryInspection {
  /// Returns the announced posts that the catalog lacks.
  func missing(of announced: Set<String>) -> [String] {
    announced.subtracting(published.map(\.key)).sorted().map {
      "\($0) was announced as published, but is not a post"
    }
  }
}
