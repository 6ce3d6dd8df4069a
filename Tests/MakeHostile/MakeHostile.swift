import Foundation
import ReelHostileFiles

/// Writes the hostile files into a folder, with a list of the answers that Reel may give to each.
@main
enum MakeHostile {
  struct Expectation: Encodable {
    /// The name's bytes in base64 if it is not UTF-8.
    let pathBytes: Data?
    let path: String
    let answers: [String]
  }

  static func main() throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 3 else {
      FileHandle.standardError.write(Data("usage: reel-make-hostile SAMPLES DIR\n".utf8))
      exit(64)
    }
    let folder = URL(fileURLWithPath: arguments[2])
    let files = try HostileSet(samples: URL(fileURLWithPath: arguments[1])).files
    try HostileFolder.write(files, into: folder.appendingPathComponent("files"))
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try encoder.encode(files.map(expectation)).write(to: folder.appendingPathComponent("expected.json"))
    print("\(files.count) files in \(folder.path)/files; what Reel may answer is in expected.json beside it")
  }

  private static func expectation(_ file: HostileFile) -> Expectation {
    let isText = String(validating: file.path, as: UTF8.self) != nil
    return Expectation(
      pathBytes: isText ? nil : Data(file.path), path: String(decoding: file.path, as: UTF8.self),
      answers: file.answers.sorted())
  }
}
