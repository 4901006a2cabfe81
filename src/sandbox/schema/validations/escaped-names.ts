/** Names of properties as expressions write them: `a-b` is `a__dash__b`, `namespace` is `__namespace__`. */

const reserved: ReadonlySet<string> = new Set([
  ...["true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"],
  ...["let", "loop", "package", "namespace", "return", "var", "void", "while"],
])

const symbols: Readonly<Record<string, string>> = {
  __: "__underscores__",
  ".": "__dot__",
  "-": "__dash__",
  "/": "__slash__",
}

/** `undefined` for a name that expressions cannot write. */
export const escapedName = (name: string): string | undefined => {
  if (reserved.has(name)) return `__${name}__`
  if (!/^[a-zA-Z_./-][a-zA-Z0-9_./-]*$/.test(name)) return undefined
  return name.replace(/__|[./-]/g, (symbol) => symbols[symbol] ?? symbol)
}
