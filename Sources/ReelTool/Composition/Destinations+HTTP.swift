import ReelRemoteStorage

extension Destinations {
  /// What the settings say of connections.
  /// - Parameter certificates: a file that counts where no setting names one.
  func httpRules(certificates: String? = nil) throws -> HTTPRules {
    let rules = HTTPRules(
      allowsPlainHTTP: settings.store.insecureHTTP ?? false,
      extraCertificates: settings.store.caFile ?? certificates, proxy: settings.store.proxy)
    guard rules.knowsProxy else {
      // It may hold a password.
      throw CommandFailure(
        .usage, "the proxy's address can't be used; it is written like http://proxy.example:3128")
    }
    return rules
  }
}
