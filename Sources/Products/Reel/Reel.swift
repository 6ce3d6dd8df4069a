// Everything that an app needs, through `import Reel` (docs/library.md).

// Request and response types, for an app's own `HTTPTransport`.
@_exported import HTTPTypes
@_exported import ReelCore
@_exported import ReelIngest
@_exported import ReelLibrary
@_exported import ReelPostgres
@_exported import ReelRemoteStorage
@_exported import ReelSandbox
@_exported import ReelSource
@_exported import ReelStorage
@_exported import ReelStores
@_exported import ReelValidation
