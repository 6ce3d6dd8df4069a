import Foundation
import Testing

extension Workbench {
  var hasCatalog: Bool {
    FileManager.default.fileExists(atPath: library.appendingPathComponent("catalog.sqlite").path)
  }

  /// Holds that everything that always holds does, and that what `events` tells as published is there.
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

  /// The objects' names of all posts that these files of events tell; one that is not there tells nothing.
  func told(in files: [String]) throws -> Set<String> {
    files.reduce(into: []) { told, name in
      let text = try? String(decoding: Data(contentsOf: folder.appendingPathComponent(name)), as: UTF8.self)
      told.formUnion(Announcements(text ?? "").keys)
    }
  }

  /// Runs the same batch again, and holds that each of `count` videos is a post then, once, and nothing is left over.
  /// - Parameter fixing: whether `reel doctor --fix` may remove what a name that was given up has.
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

/// What a stream of events told as published. A last line that was cut off told nothing.
struct Announcements {
  /// The objects' names.
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
  /// The announced posts that the catalog does not have.
  func missing(of announced: Set<String>) -> [String] {
    announced.subtracting(published.map(\.key)).sorted().map {
      "\($0) was told as published, and is not a post"
    }
  }
}
