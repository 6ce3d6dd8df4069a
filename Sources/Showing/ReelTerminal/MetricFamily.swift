import ReelCore

/// The samples of one metric in Prometheus' text exposition format, version 0.0.4.
struct MetricFamily {
  enum Kind: String {
    case counter, gauge
  }
  let name: String
  let kind: Kind
  let help: String
  var samples: [(labels: [(String, String)], value: String)]

  /// The family, with a newline after each line.
  var text: String {
    samples.reduce(into: "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n") { text, sample in
      let labels = sample.labels.map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ",")
      text += "\(name)\(labels.isEmpty ? "" : "{\(labels)}") \(sample.value)\n"
    }
  }

  /// Escapes the value of a label.
  private static func escaped(_ value: String) -> String {
    let scalars = SanitizedText.line(value).unicodeScalars
    return String(
      scalars.reduce(into: String.UnicodeScalarView()) { result, scalar in
        if scalar == "\\" || scalar == "\"" { result.append("\\") }
        result.append(scalar)
      })
  }
}
