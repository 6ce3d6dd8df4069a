/// Every setting, by its name in the configuration file; the variable of `publicBaseURL` is `REEL_PUBLIC_BASE_URL`.
enum SettingKey: String, CaseIterable {
  case library, catalog, to, author, authorName, publicBaseURL, mode, jobs, nameLength
  case worker, deadline, isolation
  case progress, logLevel, limitRate, maxSize, uploads, posters, posterSize, mend, maxRead
  case endpoint, region, pathStyle, profile, credentials, serviceAccount, project, caFile, proxy, insecureHTTP
  case presign, adapterEnv, adapterDeadline, uploadHosts, requestChecksums, conditionalPuts

  var variable: String {
    var name = "REEL_"
    var previous: Character = "_"
    for character in rawValue {
      if previous.isLowercase, character.isUppercase { name += "_" }
      name += character.uppercased()
      previous = character
    }
    return name
  }
}
