import HTTPTypes
import Logging
import Tracing

/// The trace that a request belongs to, as its sender names it (W3C Trace Context, `traceparent`). Log entries about
/// the request name it, too. A program that exports spans bootstraps a tracer of its own instead.
public struct TraceContext: Instrument {
  /// Creates an instrument that reads that field alone.
  public init() {}

  private static let field = "traceparent"

  /// The metadata that name the trace in log entries about a request.
  public static let metadata = Logger.MetadataProvider {
    guard let trace = ServiceContext.current?.traceParent else { return [:] }
    return ["trace": "\(trace.split(separator: "-")[1])"]
  }

  /// Takes the trace from `carrier`, if it has a valid one.
  public func extract<Carrier, Extract: Extractor>(
    _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
  ) where Extract.Carrier == Carrier {
    context.traceParent = extractor.extract(key: Self.field, from: carrier).flatMap(Self.checked)
  }

  /// Adds the trace to what is sent.
  public func inject<Carrier, Inject: Injector>(
    _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
  ) where Inject.Carrier == Carrier {
    if let trace = context.traceParent { injector.inject(trace, forKey: Self.field, into: &carrier) }
  }

  /// Version, trace, parent and flags, in lower-case hexadecimal digits; nil for anything else. Later versions may have
  /// more fields ("Versioning of traceparent"). The text is a stranger's, so nothing else of it goes into a log.
  static func checked(_ text: String) -> String? {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count >= 4, parts[0] != "00" || parts.count == 4, parts[0] != "ff",
      zip(parts, [2, 32, 16, 2]).allSatisfy({ part, length in
        part.utf8.count == length
          && part.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
      }), parts[1].contains(where: { $0 != "0" }), parts[2].contains(where: { $0 != "0" })
    else { return nil }
    return parts.prefix(4).joined(separator: "-")
  }
}

extension ServiceContext {
  private enum Key: ServiceContextKey {
    typealias Value = String
  }
  fileprivate var traceParent: String? {
    get { self[Key.self] }
    set { self[Key.self] = newValue }
  }
}

/// Extracts the fields of a request.
struct FieldExtractor: Extractor {
  func extract(key: String, from fields: HTTPFields) -> String? { HTTPField.Name(key).flatMap { fields[$0] } }
}
