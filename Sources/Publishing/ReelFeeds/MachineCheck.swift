import FoundationEssentials
import Glibc
import ReelCore
import ReelIngest
import ReelSource

/// What a machine can find out about itself when many files in a row have failed on it. Unlike the files, this evidence
/// can't be influenced by anyone who may upload.
package struct MachineCheck: Sendable {
  let services: IngestServices

  package init(services: IngestServices) { self.services = services }

  /// Tests the path that every file takes here: copying to where private copies are made, and reading by a worker.
  /// Returns what is wrong; nil if a video known to be good passes. Blocks.
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

  /// Whether no host of these files answers. Blocks for some seconds.
  func reachesNone(of addresses: [SourcePath]) -> Bool {
    // Behind a proxy, a direct connection proves nothing.
    if [true, false].contains(where: ProxyEnvironment.namesProxy(forHTTPS:)) { return false }
    let places = addresses.compactMap { $0.isAddress ? AddressPlace($0.text) : nil }
    let hosts = Dictionary(places.map { ($0.owner, $0) }) { first, _ in first }.values
    return places.count == addresses.count && !hosts.contains(where: \.isReachable)
  }

  /// Whether the store answers; false for a folder, which says nothing about the network.
  var reachesTheStore: Bool { AddressPlace(services.uploader.destination.name)?.isReachable ?? false }
}
