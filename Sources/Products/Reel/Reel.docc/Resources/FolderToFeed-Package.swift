// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "folder-to-feed",
  dependencies: [
    .package(url: "https://example.org/reel.git", from: "0.3.0")  // Where your copy of Reel is.
  ],
  targets: [
    .executableTarget(
      name: "folder-to-feed",
      dependencies: [
        .product(name: "Reel", package: "reel"),
        .product(name: "reel-probe-worker", package: "reel"),
      ])
  ]
)
