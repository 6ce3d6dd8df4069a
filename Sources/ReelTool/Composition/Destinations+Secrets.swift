import FoundationEssentials
import ReelCore
import ReelStorage

/// A store of the catalog needs a secret, and those at hand were not given for it.
struct SecretWithheld: Error, CustomStringConvertible {
  var description: String {
    "it needs a secret, and those that are set were not given for it: name it with --to"
  }
}

extension Destinations {
  /// Whether a store that the catalog names may be opened with the secrets at hand: the token of one tus server, the keys
  /// of one S3 endpoint and the variables of one adapter are for that one, which the user has named. A folder needs none;
  /// a service account's key signs for Google alone, whichever bucket it is.
  func mayHaveSecrets(_ address: DestinationAddress, _ destination: Destination) async -> Bool {
    guard needsSecret(address) else { return true }
    guard let secretsAreFor else { return false }
    if secretsAreFor == destination.name { return true }
    guard let named = try? DestinationAddress(parsing: secretsAreFor),
      let holder = await secretHolder(of: named, isNamed: true)
    else { return false }
    return await secretHolder(of: address, isNamed: false) == holder
  }

  private func needsSecret(_ address: DestinationAddress) -> Bool {
    switch address {
    case .folder, .firebase: false
    case .s3: true
    case .tus: ProcessInfo.processInfo.environment["REEL_TUS_TOKEN"]?.isEmpty == false
    case .command: (try? adapterEnvironment().letsThrough) ?? true
    }
  }

  /// Who is told a secret: a server, by its scheme, host and port, or a program; nil for nobody.
  /// - Parameter isNamed: the user wrote the address, and it is completed by the settings; not one of the catalog.
  private func secretHolder(of address: DestinationAddress, isNamed: Bool) async -> String? {
    switch address {
    case .folder, .firebase: nil
    case .s3(let bucket): await s3Server(of: bucket, isNamed: isNamed)
    case .tus(let address): tusServer(of: address)
    case .command(let path, let store): AdapterProgram(path: path, store: store)?.path
    }
  }
}
