import HTTPTypes
import Logging
import Tracing

/// The trace that a request belongs to, as its sender names it (W3C Trace Context, `traceparent`): what is logged of it says
/// so, too. Who exports spans bootstraps a tracer of their own in its place.
public struct TraceContext: Instrument {
  /// Reads that field alone.
  public init() {}

  private static let field = "traceparent"

  /// What a log says of the request that it is about.
  public static let metadata = Logger.MetadataProvider {
    guard let trace = ServiceContext.current?.traceParent else { return [:] }
    return ["trace": "\(trace.split(separator: "-")[1])"]
  }

  /// Takes the trace from what came, where it is one.
  public func extract<Carrier, Extract: Extractor>(
    _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
  ) where Extract.Carrier == Carrier {
    context.traceParent = extractor.extract(key: Self.field, from: carrier).flatMap(Self.checked)
  }

  /// Names the trace in what is sent.
  public func inject<Carrier, Inject: Injector>(
    _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
  ) where Inject.Carrier == Carrier {
    if let trace = context.traceParent { injector.inject(trace, forKey: Self.field, into: &carrier) }
  }

  /// Version, trace, parent and flags, in hexadecimal digits of lower case; later versions may have more ("Versioning of
  /// traceparent"). A stranger's word: nothing else goes into a log.
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

/// Fields of a request.
struct FieldExtractor: Extractor {
  func extract(key: String, from fields: HTTPFields) -> String? { HTTPField.Name(key).flatMap { fields[$0] } }
}
