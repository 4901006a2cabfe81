/**
 * The settings of one context in a kubeconfig (or a pod's environment), before the files and plugins it refers to are read: plain data
 * between the code that reads configurations and the code that turns them into endpoints.
 */

/** PEM text, or the file that holds it. */
export type Material =
  | { readonly tag: "inline"; readonly pem: string }
  | { readonly tag: "file"; readonly path: string }

export interface ClusterSettings {
  readonly name: string
  /** As written, without trailing slash. */
  readonly server: string
  readonly certificateAuthority: Material | undefined
  readonly skipTlsVerify: boolean
  readonly tlsServerName: string | undefined
  /** `disable-compression`; always true of a pod's own cluster. */
  readonly disableCompression: boolean
  /** `proxy-url`; overrides the environment. */
  readonly proxyUrl: string | undefined
  /** Extension `client.authentication.k8s.io/exec`, handed to plugins that ask for cluster information. */
  readonly execConfig: unknown
}

/** A credential plugin: `user.exec`. */
export interface ExecSettings {
  /** Absolute, or a name to be found in PATH. */
  readonly command: string
  readonly parameters: ReadonlyArray<string>
  readonly environment: ReadonlyArray<readonly [name: string, value: string]>
  readonly apiVersion: string
  readonly providesClusterInfo: boolean
  readonly installHint: string
}

/** A legacy `auth-provider`, in the form that client-node takes. */
export interface AuthProviderSettings {
  readonly name: string
  readonly config: Readonly<Record<string, unknown>>
}

/** How the user authenticates; the first that is configured, in this order (client-go rejects several). */
export type Identification =
  | { readonly tag: "exec"; readonly exec: ExecSettings }
  | { readonly tag: "token-file"; readonly path: string }
  | { readonly tag: "token"; readonly token: string }
  | { readonly tag: "basic"; readonly username: string; readonly password: string }
  | { readonly tag: "auth-provider"; readonly provider: AuthProviderSettings }
  | { readonly tag: "none" }

export interface Impersonation {
  readonly user: string | undefined
  readonly uid: string | undefined
  readonly groups: ReadonlyArray<string>
  readonly extra: ReadonlyArray<readonly [key: string, value: string]>
}

export interface UserSettings {
  /** The empty string if the context names none: requests are anonymous. */
  readonly name: string
  readonly identification: Identification
  /** Besides the above: a client certificate and its key. */
  readonly clientCertificate: { readonly certificate: Material; readonly key: Material } | undefined
  readonly impersonation: Impersonation
}

export interface ContextSettings {
  /** `in-cluster` for a pod's own service account. */
  readonly name: string
  readonly cluster: ClusterSettings
  readonly user: UserSettings
  readonly namespace: string
}

export const noImpersonation: Impersonation = { user: undefined, uid: undefined, groups: [], extra: [] }
