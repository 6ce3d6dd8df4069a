// swift-tools-version: 6.2
import PackageDescription

// Each module has one job, and dependencies between them go one way (docs/architecture.md). `scripts/test` builds with
// `--explicit-target-dependency-import-check error`, so an import that is not declared here is a build error.

/// The layers, from the bottom: folders of `Sources`.
enum Layer: String, CaseIterable {
  case system = "System"
  case core = "Core"
  case reading = "Reading"
  case judging = "Judging"
  case storing = "Storing"
  case catalogs = "Catalogs"
  case publishing = "Publishing"
  case extras = "Extras"
  case showing = "Showing"
  case products = "Products"
  case programs = "Programs"

  func path(_ module: String) -> String { "Sources/\(rawValue)/\(module)" }
}

/// A module: `Sources/LAYER/NAME`.
func module(_ layer: Layer, _ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, path: layer.path(name))
}

/// A C module: the declarations of a library and the differences between its versions, or code of our own.
func shim(_ name: String, linking libraries: String...) -> Target {
  .target(
    name: name, path: Layer.system.path(name), linkerSettings: libraries.map { .linkedLibrary($0) })
}

/// The tests of a module: `Tests/NAME`.
func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies + ["ReelTestSupport"])
}

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")

let package = Package(
  name: "reel",
  products: [
    .executable(name: "reel", targets: ["ReelTool"]),
    .executable(name: "reel-probe-worker", targets: ["reel-probe-worker"]),
    .library(name: "Reel", targets: ["Reel"]),
    .library(name: "ReelTesting", targets: ["ReelTesting"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
  ],
  targets: [
    shim("CCommit"),
    shim("CCurl"),
    shim("CDigest"),
    shim("CExpat", linking: "expat"),
    shim("CFFmpeg", linking: "avformat", "avcodec", "avutil", "swscale"),
    shim("CPostgres"),
    shim("CProcess"),
    shim("CReel", linking: "seccomp"),
    shim("CSQLite", linking: "sqlite3"),
    shim("CXXHash"),
    .systemLibrary(
      name: "COpenSSL", path: Layer.system.path("COpenSSL"), pkgConfig: "libcrypto",
      providers: [.apt(["libssl-dev"])]),
    .systemLibrary(
      name: "CYAML", path: Layer.system.path("CYAML"), pkgConfig: "yaml-0.1",
      providers: [.apt(["libyaml-dev"])]),

    // Values, protocols and the system.
    module(.core, "ReelCore", ["CCommit", "CReel"]),
    module(.core, "ReelCrypto", ["CDigest", "COpenSSL", "ReelCore"]),

    // Reading: which files there are, and what each of them is.
    module(.reading, "ReelSource", ["CReel", "ReelCore", "ReelCrypto"]),
    module(.reading, "ReelWire", ["CReel", "ReelCore"]),
    module(.reading, "ReelProbe", ["CFFmpeg", "ReelCore"]),
    module(.reading, "ReelSandbox", ["CReel", "ReelCore", "ReelWire"]),

    module(.judging, "ReelValidation", ["CYAML", "ReelCore"]),

    module(.storing, "ReelStorage", ["CReel", "ReelCore", "ReelCrypto"]),
    module(
      .storing, "ReelRemoteStorage",
      ["CCurl", "CExpat", "ReelCore", "ReelCrypto", "ReelStorage", httpTypes]),
    module(.storing, "ReelStores", ["ReelCore", "ReelSource", "ReelStorage", "ReelRemoteStorage"]),
    module(.storing, "ReelStorageTesting", ["ReelCore", "ReelCrypto"]),

    module(.catalogs, "ReelCatalogCopy", ["ReelCore", "ReelCrypto"]),
    module(.catalogs, "ReelLibrary", ["CSQLite", "CReel", "ReelCore", "ReelStorage", "ReelCatalogCopy"]),
    module(.catalogs, "ReelPostgres", ["CPostgres", "ReelCore", "ReelCatalogCopy"]),

    // The steps of a run.
    module(.publishing, "ReelIngest", ["ReelCore", "ReelSource"]),
    module(
      .publishing, "ReelUpkeep",
      [
        "CReel", "ReelCore", "ReelCrypto", "ReelSource", "ReelSandbox", "ReelValidation", "ReelStorage",
        "ReelStores", "ReelLibrary", "ReelIngest",
      ]),
    module(
      .publishing, "ReelFeeds",
      ["ReelCore", "ReelCrypto", "ReelSource", "ReelValidation", "ReelPostgres", "ReelIngest"]),

    // What a worker can do besides probing.
    module(.extras, "ReelPicture", ["CFFmpeg", "ReelCore", "ReelProbe"]),
    module(.extras, "ReelMend", ["CFFmpeg", "CReel", "CXXHash", "ReelCore", "ReelProbe"]),

    // Output as text and as HTML.
    module(
      .showing, "ReelTerminal",
      [
        "ReelCore", "ReelStorage", "ReelCatalogCopy", "ReelLibrary", "ReelPostgres", "ReelSource",
        "ReelValidation", "ReelIngest", "ReelUpkeep",
      ]),
    .target(
      name: "ReelPage",
      dependencies: [
        "CReel", "ReelCore", "ReelCrypto", "ReelSource", "ReelSandbox", "ReelRemoteStorage", "ReelStores",
        "ReelValidation", "ReelIngest", "ReelUpkeep", "ReelTerminal",
      ],
      path: Layer.showing.path("ReelPage"), resources: [.embedInCode("Assets")]),

    // What an app imports, and what its tests import.
    module(
      .products, "Reel",
      [
        "ReelCore", "ReelSource", "ReelSandbox", "ReelValidation", "ReelStorage", "ReelRemoteStorage",
        "ReelStores", "ReelLibrary", "ReelPostgres", "ReelIngest", httpTypes,
      ]),
    module(.products, "ReelTesting", ["ReelCore", "ReelStorageTesting"]),

    // Signals and limits of a process.
    module(.programs, "ReelProcess", ["CProcess", "ReelCore", "ReelIngest"]),

    // The program. Its product is `reel`; a module of that name would differ from `Reel` only in case.
    .executableTarget(
      name: "ReelTool",
      dependencies: [
        "CProcess", "CReel", "ReelCore", "ReelCrypto", "ReelSource", "ReelSandbox", "ReelStorage",
        "ReelRemoteStorage", "ReelStores",
        "ReelStorageTesting", "ReelCatalogCopy", "ReelLibrary", "ReelPostgres", "ReelValidation",
        "ReelIngest", "ReelFeeds", "ReelUpkeep", "ReelTerminal", "ReelPage", "ReelProcess", argumentParser,
      ],
      path: Layer.programs.path("ReelTool")),
    .executableTarget(
      name: "reel-probe-worker",
      dependencies: ["ReelCore", "ReelWire", "ReelProbe", "ReelPicture", "ReelMend"],
      path: Layer.programs.path("reel-probe-worker")),

    // Support for tests.
    .target(
      name: "ReelTestSupport", dependencies: ["ReelCore", "ReelCrypto", "ReelStorageTesting"],
      path: "Tests/Support"),
    .target(name: "CEscapes", path: "Tests/CEscapes"),
    .executableTarget(
      name: "reel-sabotaged-worker",
      dependencies: ["CReel", "ReelCore", "ReelWire", "CEscapes"],
      path: "Tests/SabotagedWorker"),
    .target(name: "ReelHostileFiles", path: "Tests/HostileFiles"),
    .target(name: "CPausingVFS", path: "Tests/PausingVFS", linkerSettings: [.linkedLibrary("sqlite3")]),
    .executableTarget(
      name: "reel-catalog-writer",
      dependencies: ["CPausingVFS", "ReelCore", "ReelLibrary", "ReelTestSupport"],
      path: "Tests/CatalogWriters"),
    .executableTarget(
      name: "reel-make-hostile", dependencies: ["ReelHostileFiles"], path: "Tests/MakeHostile"),
    .target(
      name: "CWire", path: "Tests/CWire", linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
    .target(
      name: "ReelHTTPFakes",
      dependencies: [
        "ReelCore", "ReelCrypto", "ReelStorage", "ReelRemoteStorage", "ReelTestSupport", "CWire", httpTypes,
      ],
      path: "Tests/HTTPFakes"),
    .target(
      name: "ReelFakeGoogle",
      dependencies: ["COpenSSL", "ReelCore", "ReelCrypto", "ReelRemoteStorage", "ReelHTTPFakes"],
      path: "Tests/FakeGoogle"),
    .target(
      name: "ReelTestServers", dependencies: ["ReelPostgres", "ReelTestSupport"], path: "Tests/Servers"),
    .target(
      name: "ReelFaultCampaign",
      dependencies: [
        "ReelCore", "ReelCrypto", "ReelSource", "ReelStorage", "ReelRemoteStorage", "ReelLibrary",
        "ReelIngest", "ReelTestSupport", "ReelHTTPFakes",
      ],
      path: "Tests/FaultCampaign"),

    // Tests.
    tests("ReelCoreTests", ["ReelCore"]),
    tests("ReelCryptoTests", ["CDigest", "ReelCore", "ReelCrypto"]),
    tests("ReelSourceTests", ["CReel", "ReelCore", "ReelSource"]),
    tests("ReelWireTests", ["ReelCore", "ReelWire"]),
    tests("ReelProbeTests", ["CFFmpeg", "ReelCore", "ReelProbe"]),
    tests("ReelMendTests", ["ReelCore", "ReelProbe", "ReelMend"]),
    tests("ReelPictureTests", ["CFFmpeg", "ReelCore", "ReelProbe", "ReelPicture"]),
    tests(
      "ReelSandboxTests",
      [
        "CReel", "ReelCore", "ReelWire", "reel-probe-worker", "ReelSandbox", "CEscapes",
        "reel-sabotaged-worker",
      ]),
    tests(
      "ReelStorageTests",
      [
        "ReelCore", "ReelCrypto", "ReelStorage", "ReelStorageTesting", "ReelTesting", "ReelLibrary",
        "ReelIngest", "Reel", "ReelFaultCampaign",
      ]),
    tests(
      "ReelHTTPTests",
      ["CCurl", "ReelCore", "ReelCrypto", "ReelStorage", "ReelRemoteStorage", "ReelHTTPFakes", httpTypes]),
    tests(
      "ReelS3Tests",
      [
        "ReelCore", "ReelCrypto", "ReelStorage", "ReelRemoteStorage", "ReelStorageTesting", "ReelLibrary",
        "ReelHTTPFakes", "ReelTestServers", "ReelFaultCampaign", httpTypes,
      ]),
    tests(
      "ReelTusTests",
      [
        "ReelCore", "ReelCrypto", "ReelStorage", "ReelRemoteStorage", "ReelStorageTesting", "ReelLibrary",
        "ReelHTTPFakes", "ReelTestServers", "ReelFaultCampaign", httpTypes,
      ]),
    tests(
      "ReelFirebaseTests",
      [
        "COpenSSL", "ReelCore", "ReelCrypto", "ReelStorage", "ReelRemoteStorage", "ReelStorageTesting",
        "ReelLibrary", "ReelHTTPFakes", "ReelFakeGoogle", "ReelTestServers",
        "ReelFaultCampaign", httpTypes,
      ]),
    tests(
      "ReelLibraryTests",
      [
        "CSQLite", "ReelCore", "ReelCrypto", "ReelStorage", "ReelCatalogCopy", "ReelLibrary",
        "ReelPostgres", "ReelTestServers", "CPausingVFS", "reel-catalog-writer",
      ]),
    tests(
      "ReelPostgresTests", ["CPostgres", "ReelCore", "ReelCatalogCopy", "ReelPostgres", "ReelTestServers"]),
    tests("ReelValidationTests", ["ReelCore", "ReelValidation", "ReelTerminal"]),
    tests(
      "ReelIngestTests",
      [
        "ReelCore", "ReelCrypto", "ReelSource", "ReelSandbox", "ReelStorage", "ReelLibrary", "ReelIngest",
        "Reel", "ReelTesting",
      ]),
    tests(
      "ReelFeedsTests",
      [
        "ReelCore", "ReelSource", "ReelStorage", "ReelPostgres", "ReelLibrary", "ReelIngest", "ReelFeeds",
        "ReelTesting", "ReelTestServers",
      ]),
    tests("ReelTerminalTests", ["ReelCore", "ReelLibrary", "ReelPostgres", "ReelIngest", "ReelTerminal"]),
    tests(
      "ReelPageTests",
      [
        "ReelCore", "ReelCrypto", "ReelLibrary", "ReelValidation", "ReelIngest", "ReelTerminal", "ReelPage",
      ]),
    tests(
      "ReelHostileTests",
      ["reel-probe-worker", "ReelIngest", "ReelTool", "reel-sabotaged-worker", "ReelHostileFiles"]),
    tests(
      "ReelEndToEndTests",
      [
        "ReelCore", "ReelCrypto", "reel-probe-worker", "ReelStorage", "ReelRemoteStorage", "ReelStores",
        "ReelLibrary", "ReelPostgres", "ReelValidation", "ReelIngest", "ReelTesting", "ReelTool",
        "reel-sabotaged-worker",
        "ReelHTTPFakes", "ReelFakeGoogle", "ReelTestServers", httpTypes,
      ]),
  ],
  swiftLanguageModes: [.v6]
)

// With `REEL_TESTS=ReelCoreTests,ReelWireTests`, a build compiles only these tests (scripts/test --only).
if let names = Context.environment["REEL_TESTS"] {
  let wanted = Set(names.split(separator: ",").map(String.init))
  package.targets.removeAll { $0.type == .test && !wanted.contains($0.name) }
}

// A module may import only from its own layer and those below.
let layers = Dictionary(
  uniqueKeysWithValues: package.targets.compactMap { target in
    Layer.allCases.firstIndex { target.path == $0.path(target.name) }.map { (target.name, $0) }
  })
for target in package.targets {
  guard let layer = layers[target.name] else { continue }
  for case .byNameItem(let name, _) in target.dependencies {
    if let other = layers[name], other > layer { fatalError("\(target.name) is in a layer below \(name)") }
  }
}

// With REEL_STRICT=1 (set by scripts/test and CI), warnings are errors. Not for users: newer system headers may
// deprecate a function that Reel calls, which must not fail their build.
if Context.environment["REEL_STRICT"] == "1" {
  for target in package.targets where target.type != .system {
    target.swiftSettings = [.treatAllWarnings(as: .error)]
    target.cSettings = [.treatAllWarnings(as: .error)]
    target.cxxSettings = [.treatAllWarnings(as: .error)]
  }
}
