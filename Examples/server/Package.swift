// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "video-server",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "reel", path: "../.."),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: [
    .executableTarget(
      name: "video-server",
      dependencies: [
        .product(name: "Reel", package: "reel"),
        // Built beside the program, where it is looked for; nothing of it is linked in.
        .product(name: "reel-probe-worker", package: "reel"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ])
  ]
)
