/**
 * Everything a worker needs to talk to one API server, as plain data that crosses a thread boundary; passed again
 * whenever a token or a certificate changes. It contains secrets: never log it.
 */
export interface ApiEndpoint {
  /** `https://host:port` or `http://host:port`, with an optional path prefix and no trailing slash. */
  readonly server: string
  /** PEM bundle that signs the server's certificate; absent means the system's own roots. */
  readonly certificateAuthority?: string
  /** `insecure-skip-tls-verify` of the kubeconfig. Default false. */
  readonly skipTlsVerify?: boolean
  /** `tls-server-name` of the kubeconfig: checked instead of the host name. */
  readonly tlsServerName?: string
  /** PEM client certificate and key, for client-certificate credentials. */
  readonly clientCertificate?: string
  readonly clientKey?: string
  /**
   * Compressed responses cost more than they save: `disable-compression` of the kubeconfig, or a pod's own cluster, whose network is faster
   * than gzip. Default false.
   */
  readonly prefersPlain?: boolean
  /** `http://[user:password@]host:port`, or the same with `socks5` or `socks5h`, from `proxy-url` or the environment. */
  readonly proxy?: string
  /** Request headers: `Authorization`, impersonation. One entry per header line, so that repeated names survive. */
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
}

/** A source of endpoints whose credentials change over time; `src/kube/credentials` provides one for a kubeconfig. */
export interface EndpointSource {
  /** The current endpoint; the same object as before while nothing has changed. */
  endpoint(): Promise<ApiEndpoint>
  /** Call it when the server returned 401 to the last endpoint: fetches fresh credentials for the next call of `endpoint`. */
  onUnauthorized(): Promise<void>
  /** Why the last refresh failed, while older credentials are still in use. */
  readonly problem?: { readonly message: string } | undefined
}
