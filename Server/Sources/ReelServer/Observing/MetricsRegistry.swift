import CoreMetrics
import Synchronization

/// The metrics of swift-metrics in Prometheus' text format (version 0.0.4): the server's own, and those of any library
/// that has some.
public final class MetricsRegistry: MetricsFactory {
  private struct State {
    var series: [SeriesName: Series] = [:]
    var help: [String: String] = [:]
  }
  private let state = Mutex(State())
  /// The largest number of series. A stranger could choose labels to fill the memory, so what comes after that is not
  /// counted.
  private static let most = 10_000

  /// Creates a registry without any metrics.
  public init() {}

  /// Describes a metric.
  func describe(_ name: String, _ help: String) { state.withLock { $0.help[name] = help } }

  private func series(_ label: String, _ dimensions: [(String, String)], _ kind: Series.Kind) -> Series {
    let name = SeriesName(label, dimensions)
    return state.withLock { state in
      if let known = state.series[name], known.kind == kind { return known }
      let new = Series(name, kind)
      if state.series.count < Self.most { state.series[name] = new }
      return new
    }
  }

  private func forget(_ handler: AnyObject) {
    guard let series = handler as? Series else { return }
    state.withLock { state in
      if state.series[series.name] === series { state.series[series.name] = nil }
    }
  }

  /// All metrics, sorted by name.
  public func text() -> String {
    let (all, help) = state.withLock { ($0.series.values.map { $0 }, $0.help) }
    let families = Dictionary(grouping: all) { $0.name.metric }
    return families.sorted { $0.key < $1.key }.map { name, series in
      let kind = series[0].kind
      let head = help[name].map { "# HELP \(name) \(SeriesName.escaped($0, quotes: false))\n" } ?? ""
      let lines = series.filter { $0.kind == kind }.sorted { $0.name.labels < $1.name.labels }.map { $0.text }
      return "\(head)# TYPE \(name) \(kind.rawValue)\n" + lines.joined()
    }.joined()
  }

  // MARK: MetricsFactory

  /// Makes a number that only grows.
  public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    series(label, dimensions, .counter)
  }
  /// Makes a number that only grows, with a fraction.
  public func makeFloatingPointCounter(
    label: String, dimensions: [(String, String)]
  ) -> any FloatingPointCounterHandler {
    series(label, dimensions, .counter)
  }
  /// Makes a number with a current value.
  public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
    series(label, dimensions, .gauge)
  }
  /// Makes a sum and a count or, where nothing is aggregated, a number with a current value.
  public func makeRecorder(
    label: String, dimensions: [(String, String)], aggregate: Bool
  ) -> any RecorderHandler {
    series(label, dimensions, aggregate ? .summary : .gauge)
  }
  /// Makes a histogram, in seconds.
  public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    series(label, dimensions, .histogram)
  }
  /// Forgets a counter.
  public func destroyCounter(_ handler: any CounterHandler) { forget(handler) }
  /// Forgets a counter with a fraction.
  public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { forget(handler) }
  /// Forgets a meter.
  public func destroyMeter(_ handler: any MeterHandler) { forget(handler) }
  /// Forgets a recorder.
  public func destroyRecorder(_ handler: any RecorderHandler) { forget(handler) }
  /// Forgets a timer.
  public func destroyTimer(_ handler: any TimerHandler) { forget(handler) }
}

/// The name and labels of a series, in the characters that Prometheus allows.
private struct SeriesName: Hashable {
  let metric: String
  /// `a="1",b="2"`, or nothing.
  let labels: String

  init(_ label: String, _ dimensions: [(String, String)]) {
    metric = Self.identifier(label)
    labels = dimensions.map { "\(Self.identifier($0))=\"\(Self.escaped($1, quotes: true))\"" }.joined(
      separator: ",")
  }

  private static func identifier(_ text: String) -> String {
    let allowed = text.unicodeScalars.map { scalar -> Character in
      switch scalar {
      case "a"..."z", "A"..."Z", "0"..."9", "_": Character(scalar)
      default: "_"
      }
    }
    return (allowed.first?.isNumber ?? true ? "_" : "") + String(allowed)
  }

  static func escaped(_ text: String, quotes: Bool) -> String {
    text.reduce(into: "") { result, character in
      switch character {
      case "\\": result += "\\\\"
      case "\n", "\r\n": result += "\\n"
      case "\"" where quotes: result += "\\\""
      default: result.append(character)
      }
    }
  }

  func line(_ suffix: String, _ more: String, _ value: String) -> String {
    let all = [labels, more].filter { !$0.isEmpty }.joined(separator: ",")
    return "\(metric)\(suffix)\(all.isEmpty ? "" : "{\(all)}") \(value)\n"
  }
}

/// One number, or one distribution.
private final class Series: CounterHandler, FloatingPointCounterHandler, MeterHandler, RecorderHandler,
  TimerHandler
{
  enum Kind: String { case counter, gauge, summary, histogram }
  private struct Value {
    /// The number, or the sum of all values.
    var sum = 0.0
    var count = 0
    /// For each of ``bounds``, the number of values that are no greater.
    var buckets = [Int](repeating: 0, count: Series.bounds.count)
  }
  let name: SeriesName
  let kind: Kind
  private let value = Mutex(Value())

  /// In seconds, from an answer out of memory to an upload over a slow connection.
  private static let bounds = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800,
  ]

  init(_ name: SeriesName, _ kind: Kind) { (self.name, self.kind) = (name, kind) }

  func increment(by amount: Int64) { increment(by: Double(amount)) }
  func increment(by amount: Double) { value.withLock { $0.sum += amount } }
  func decrement(by amount: Double) { increment(by: -amount) }
  func set(_ number: Int64) { set(Double(number)) }
  func set(_ number: Double) { value.withLock { $0.sum = number } }
  func reset() { set(0.0) }
  func record(_ number: Int64) { record(Double(number)) }
  func recordNanoseconds(_ duration: Int64) { record(Double(duration) * 1e-9) }
  func record(_ number: Double) {
    guard kind != .gauge else { return set(number) }
    value.withLock { value in
      value.sum += number
      value.count += 1
      for (index, bound) in Self.bounds.enumerated() where number <= bound { value.buckets[index] += 1 }
    }
  }

  var text: String {
    let value = value.withLock { $0 }
    guard kind == .histogram || kind == .summary else { return name.line("", "", Self.text(value.sum)) }
    var lines: [String] = []
    if kind == .histogram {
      lines = zip(Self.bounds, value.buckets).map { bound, count in
        name.line("_bucket", "le=\"\(Self.text(bound))\"", "\(count)")
      }
      lines.append(name.line("_bucket", "le=\"+Inf\"", "\(value.count)"))
    }
    return lines.joined() + name.line("_sum", "", Self.text(value.sum))
      + name.line("_count", "", "\(value.count)")
  }

  private static func text(_ number: Double) -> String {
    Int64(exactly: number).map { "\($0)" } ?? "\(number)"
  }
}
