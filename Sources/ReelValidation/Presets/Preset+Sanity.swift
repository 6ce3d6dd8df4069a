extension Preset {
  /// What counts when nobody says otherwise.
  static let sanity = Preset(
    name: PolicyLibrary.sanity, title: "the built-in rules: real, whole videos with honest names",
    text: """
      # Real, whole videos. No numbers: what is wrong here is wrong everywhere.
      policy: 1
      name: sanity
      version: 2026-11-22
      about: The built-in rules. Every other policy builds upon them unless it extends none.
      extends: none
      rules:
        file.unreadable: error
        file.empty: error
        file.lfsPointer: error
        file.truncated: error
        media.external: error
        container.unrecognised: error
        container.disguised: error
        container.unsupported: error
        container.corrupt: error
        ext.mismatch: warn
        mp4.noMoov: error
        duration.missing: warn
        duration.mismatch: warn
        video.none: error
        video.coverOnly: error
        video.empty: error
        encryption.present: warn
        size.unknown: error
        privacy.location: warn
        name.unsafe: warn
        duplicate.exact: warn
        sidecar.invalid: error
        sidecar.orphan: warn

      """)
}
