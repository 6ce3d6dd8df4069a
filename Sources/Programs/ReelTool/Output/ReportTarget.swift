import ArgumentParser
import ReelCore
import ReelPage
import ReelTerminal

/// `--report html=FILE` of a run.
struct RunReportTarget: ExpressibleByArgument {
  let path: String

  init?(argument: String) {
    guard let text = try? RawArguments.text(argument), text.hasPrefix("html="), text != "html=" else {
      return nil
    }
    path = String(text.dropFirst("html=".count))
  }
}

/// One `--report`: a form, and the file that it goes to; nil for stdout.
struct ReportTarget: ExpressibleByArgument, Hashable {
  let kind: ReportKind
  let path: String?

  /// `KIND` or `KIND=FILE`.
  init?(argument: String) {
    guard let text = try? RawArguments.text(argument) else { return nil }
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard let name = parts.first, let kind = ReportKind(name: name),
      parts.last?.isEmpty == false
    else { return nil }
    self.kind = kind
    path = parts.count > 1 && !OutputStream.isStandardOutput(SourcePath(parts[1])) ? parts[1] : nil
  }

  static var allValueStrings: [String] { ReportKind.names.map { "\($0)[=FILE]" } }
}
