import FoundationEssentials
import Glibc
import ReelCore
import ReelIngest
import ReelSource

/// What a machine can find out about itself where many files in a row have failed on it: evidence that nobody who may
/// upload something has a hand in.
package struct MachineCheck: Sendable {
  let services: IngestServices

  package init(services: IngestServices) { self.services = services }

  /// What is wrong with the way that every file goes here: it is copied where private copies are made, and read by a
  /// worker. Nil where a video that is known to be one goes it. Blocks.
  func problem() -> String? {
    do {
      let staging = services.uploader.staging ?? services.staging
      guard let copy = try PrivateCopy.make(of: SampleVideo.file, in: staging) else { return nil }
      _ = try services.prober.probe(copy.source, cancellation: CancellationFlag())
      return nil
    } catch let failure as PrivateCopy.Failure {
      switch failure {
      case .source(let error): return services.worded(error.text)
      case .staging(let error): return services.worded(error.text)
      }
    } catch let error as ProbeError {
      return services.worded(error.text)
    } catch {
      return "\(error)"
    }
  }

  /// Whether nothing answers where these files lie. Blocks for some seconds.
  func reachesNone(of addresses: [SourcePath]) -> Bool {
    // What stands between would have to be asked.
    if ["http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY"].contains(where: {
      (name: String) in getenv(name) != nil
    }) {
      return false
    }
    let places = addresses.compactMap { $0.isAddress ? AddressPlace($0.text) : nil }
    let hosts = Dictionary(places.map { ($0.owner, $0) }) { first, _ in first }.values
    return places.count == addresses.count && !hosts.contains(where: \.isReachable)
  }

  /// Whether the store answers; false for a folder, which tells nothing of the network.
  var reachesTheStore: Bool { AddressPlace(services.uploader.destination.name)?.isReachable ?? false }
}
