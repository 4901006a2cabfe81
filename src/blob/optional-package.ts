/**
 * The SDKs of object stores are optional: an installation that writes to none of them needs none, and a process that does not use them pays
 * nothing. They are imported at the first export that needs one, by a name that bundlers cannot see.
 */
import { messageOf } from "../message-of.ts"
import type { StoreAddress } from "./target-address.ts"
import { targetError } from "./target-error.ts"

/** Imports a package by its name; default `import()`. */
export type ImportPackage = (name: string) => Promise<unknown>

export const importPackage: ImportPackage = (name) => import(name)

/**
 * The module of an SDK.
 *
 * @throws TargetError `package-missing`, which names the package to install
 */
export const loadSdk = async <Sdk>(importing: ImportPackage, name: string, address: StoreAddress): Promise<Sdk> => {
  try {
    return (await importing(name)) as Sdk
  } catch (cause) {
    const code = (cause as { readonly code?: unknown }).code
    const why = code === "ERR_MODULE_NOT_FOUND" ? "" : ` (${messageOf(cause)})`
    throw targetError(
      address,
      "package-missing",
      `it needs the package ${name}, which cannot be loaded${why}; install it beside kubereel: npm install ${name}`,
    )
  }
}
