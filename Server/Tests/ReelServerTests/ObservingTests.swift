import CoreMetrics
import Hummingbird
import Testing
import Tracing

@testable import ReelServer

@Suite struct ObservingTests {
  @Test func eachKindIsWrittenAsPrometheusHasIt() {
    let registry = MetricsRegistry()
    Counter(label: "a.b-c", dimensions: [("x y", "\"\\\n")], factory: registry).increment(by: 2)
    Counter(label: "a.b-c", dimensions: [("x y", "\"\\\n")], factory: registry).increment()
    Meter(label: "9lives", factory: registry).set(1.5)
    Recorder(label: "sizes", factory: registry).record(3)
    Gauge(label: "now", factory: registry).record(7)
    let timer = Timer(label: "t", factory: registry)
    timer.recordNanoseconds(7_000_000)
    timer.recordNanoseconds(20_000_000_000)
    let text = registry.text()
    #expect(text.contains("# TYPE a_b_c counter\na_b_c{x_y=\"\\\"\\\\\\n\"} 3\n"))
    #expect(text.contains("# TYPE _9lives gauge\n_9lives 1.5\n"))
    #expect(text.contains("# TYPE sizes summary\nsizes_sum 3\nsizes_count 1\n"))
    #expect(text.contains("now 7\n"))
    #expect(text.contains("t_bucket{le=\"0.005\"} 0\nt_bucket{le=\"0.01\"} 1\n"))
    #expect(
      text.contains("t_bucket{le=\"30\"} 2\n")
        && text.contains("t_bucket{le=\"+Inf\"} 2\nt_sum 20.007\nt_count 2\n"))
  }

  @Test func whatIsDestroyedIsGoneAndLabelsWithoutEndAreNot() {
    let registry = MetricsRegistry()
    let counter = Counter(label: "gone", factory: registry)
    counter.increment()
    counter.destroy()
    #expect(!registry.text().contains("gone"))
    for number in 0..<20_000 {
      Counter(label: "many", dimensions: [("n", "\(number)")], factory: registry).increment()
    }
    #expect(registry.text().split(separator: "\n").count <= 10_001)
  }

  @Test(
    "a trace parent is accepted only in the form that W3C specifies",
    arguments: [
      ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true),
      ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", true),
      ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", false),
      ("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false),
      ("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", false),
      ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", false),
      ("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", false),
      ("00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01", false), ("", false), ("---", false),
      ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0\n", false),
    ])
  func traces(_ field: String, _ isOne: Bool) {
    #expect((TraceContext.checked(field) != nil) == isOne)
    var context = ServiceContext.topLevel
    TraceContext().extract(
      ["traceparent": field], into: &context, using: Fields())
    var sent: [String: String] = [:]
    TraceContext().inject(context, into: &sent, using: Fields())
    #expect(sent.isEmpty != isOne)
  }

  private struct Fields: Extractor, Injector {
    func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
    func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) {
      carrier[key] = value
    }
  }
}
