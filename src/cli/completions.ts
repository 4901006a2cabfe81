/**
 * `reel completions`: a short script for each shell, which asks the program what may follow the words before the cursor, as kubectl asks its
 * plugins. The answer is in Cobra's form: a candidate on each line, a tab before its meaning, and on the last line a colon and a number, which
 * says whether files or directories are possible too. Only the command in question is loaded.
 */
import { quoted } from "../text/index.ts"
import { type CommandSyntax, type Option, optionName } from "./command-line/arguments.ts"
import { type Command, type CommandEntry, command, commandNamed } from "./command-line/command.ts"
import { exitCodes } from "./command-line/exit-codes.ts"

/** Cobra's directives. Without `nothing` the shell completes files if there is no candidate. */
const directives = { files: 0, nothing: 4, directories: 16 }

type Place = keyof typeof directives

interface Answer {
  readonly candidates: ReadonlyArray<readonly [word: string, meaning: string]>
  readonly place: Place
}

/** The answer as text. `words`: those after the program's name; the last one, which may be empty, is to be completed. */
export const completionsOf = async (
  commands: ReadonlyArray<CommandEntry>,
  words: ReadonlyArray<string>,
): Promise<string> => {
  const { candidates, place } = await answerOf(commands, words.slice(0, -1), words.at(-1) ?? "")
  const lines = candidates.map(([word, meaning]) => (meaning === "" ? word : `${word}\t${meaning}`))
  return `${[...lines, `:${directives[place]}`].join("\n")}\n`
}

const commonOptions: Answer["candidates"] = [
  ["--help", "show help"],
  ["-h", "show help"],
  ["--version", "show the version"],
]

const answerOf = async (
  commands: ReadonlyArray<CommandEntry>,
  [name, ...given]: ReadonlyArray<string>,
  current: string,
): Promise<Answer> => {
  if (name !== undefined) {
    const entry = commandNamed(commands, name)
    return entry === undefined ? offered([], current) : ofCommand(await entry.load(), given, current)
  }
  if (current.startsWith("-")) return offered(commonOptions, current)
  const named = commands.flatMap(({ name, aliases = [], summary }) =>
    [name, ...aliases].map((each) => [each, summary.replace(/\.$/, "")] as const),
  )
  return offered(named, current)
}

/** The options of variants are those of the command too, because a variant begins with any of them. */
const ofCommand = ({ syntax, variants = [] }: Command, given: ReadonlyArray<string>, current: string): Answer => {
  const table: Record<string, Option<unknown>> = Object.assign(
    {},
    syntax.options,
    ...variants.map(({ options }) => options),
    syntax.options,
  )
  const options = Object.entries(table).flatMap(([key, option]) =>
    [`--${optionName(key)}`, ...(option.short === undefined ? [] : [`-${option.short}`])].map(
      (spelling) => [spelling, option] as const,
    ),
  )
  const isEnded = given.includes("--")
  const valued = (spelling: string): Option<unknown> | undefined => {
    const [, option] = isEnded ? [] : (options.find(([each]) => each === spelling) ?? [])
    return option?.placeholder === undefined ? undefined : option
  }
  const [, attached, typed = ""] = /^(--[a-z-]+)=(.*)$/s.exec(current) ?? []
  const option = valued(attached ?? given.at(-1) ?? "")
  if (option !== undefined) return ofValue(option, attached === undefined ? current : typed)
  if (attached !== undefined && !isEnded) return offered([], typed)
  if (current.startsWith("-") && !isEnded)
    return offered(
      [...options.map(([spelling, { help }]) => [spelling, brief(help)] as const), ...commonOptions],
      current,
    )
  const { placeholder, choices = [], candidates = [] } = syntax.operand ?? {}
  const words = [...choices, ...candidates]
  const isGiven = given.some((word) => words.includes(word))
  const place = placeholder === undefined ? "nothing" : placeIn(placeholder)
  return { ...offered(isGiven ? [] : words.map((word) => [word, ""]), current), place }
}

const ofValue = ({ placeholder = "", choices }: Option<unknown>, typed: string): Answer =>
  choices === undefined
    ? { candidates: [], place: placeIn(placeholder) }
    : offered(
        choices.map((word) => [word, ""]),
        typed,
      )

const offered = (all: Answer["candidates"], typed: string): Answer => ({
  candidates: all.filter(([word]) => word.startsWith(typed)),
  place: "nothing",
})

/** Parts of placeholders that mean files, and directories. Where both are possible, files are completed, which shells do with directories too. */
const fileParts = new Set(["FILE", "FILES", "IN", "OUT", "REPORT", "TRACE"])
const directoryParts = new Set(["DIR", "DIRECTORY", "DATA-DIR"])

const placeIn = (placeholder: string): Place => {
  const parts = placeholder.split(/[^A-Z-]+/)
  if (parts.some((part) => fileParts.has(part))) return "files"
  return parts.some((part) => directoryParts.has(part)) ? "directories" : "nothing"
}

/** Characters that fit beside an option's name in most terminals. */
const longestHelp = 80

/** The first part of a help text. */
const brief = (help: string): string => {
  const [first = ""] = help.split(/;|\. | \((?:required|default|may be)/, 1)
  return first.length <= longestHelp ? first : `${first.slice(0, first.lastIndexOf(" ", longestHelp - 3))}...`
}

/** The scripts. bash is macOS's 3.2 too, which has no `compopt`: there the names of directories are completed without their slash. */
const scripts: Readonly<Record<string, string>> = {
  bash: `\
# Completions of reel for bash, made by "reel completions bash".

_reel() {
  local words=() index word line kind= current=\${COMP_WORDS[COMP_CWORD]}
  # bash takes --name=value apart into three words.
  for ((index = 1; index <= COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    if ((index > 1)) && [[ $word == = || \${COMP_WORDS[index - 1]} == = ]]; then
      words[\${#words[@]} - 1]+=$word
    else
      words+=("$word")
    fi
  done
  [[ $current == = ]] && current=
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :0) kind=-f ;;
      :16) kind=-d ;;
      :*) ;;
      *) COMPREPLY+=("\${line%%$'\\t'*}") ;;
    esac
  done < <(reel completions answer -- "\${words[@]}" 2> /dev/null)
  [[ -z $kind ]] && return
  compopt -o filenames 2> /dev/null
  while IFS= read -r line; do
    COMPREPLY+=("$line")
  done < <(compgen "$kind" -- "$current")
}

complete -F _reel reel
`,
  zsh: `\
#compdef reel
# Completions of reel for zsh, made by "reel completions zsh".

_reel() {
  local line place
  local -a candidates
  for line in "\${(@f)$(reel completions answer -- "\${(@Q)words[2,CURRENT]}" 2> /dev/null)}"; do
    case $line in
      :*) place=$line ;;
      *$'\\t'*) candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
      *) candidates+=("\${line//:/\\\\:}") ;;
    esac
  done
  [[ \${words[CURRENT]} == --*=* ]] && compset -P '*='
  (( $#candidates )) && _describe 'reel' candidates
  case $place in
    :0) _files ;;
    :16) _files -/ ;;
  esac
}

# zsh runs the file as the function's body when it has found it in fpath, and as a script when it is sourced.
if [[ $funcstack[1] == _reel ]]; then
  _reel "$@"
else
  compdef _reel reel
fi
`,
  fish: `\
# Completions of reel for fish, made by "reel completions fish".

function __reel_complete
    set -l words (commandline -opc)
    set -l token (commandline -ct)
    set -l prefix (string match -r -- '^--[^=]*=' "$token")
    set -l typed (string replace -r -- '^--[^=]*=' '' "$token")
    set -l answer (reel completions answer -- $words[2..-1] "$token" 2> /dev/null)
    set -l place "$answer[-1]"
    for line in $answer
        string match -q -- ':*' $line; or echo "$prefix$line"
    end
    switch $place
        case ':0'
            for path in (__fish_complete_path "$typed")
                echo "$prefix$path"
            end
        case ':16'
            for path in (__fish_complete_directories "$typed")
                echo "$prefix$path"
            end
    end
end

complete -c reel -f -a '(__reel_complete)'
`,
  powershell: `\
# Completions of reel for PowerShell, made by "reel completions powershell".

Register-ArgumentCompleter -Native -CommandName reel -ScriptBlock {
  param($current, $line, $position)
  $given = @($line.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $position } | ForEach-Object { $_.ToString() })
  # Before 7.3, an empty argument is dropped unless it is quoted twice.
  $last = if ("$current" -or $PSVersionTable.PSVersion -ge [version]'7.3') { "$current" } else { '""' }
  $answer = @(reel completions answer -- @given $last)
  $prefix = if ("$current" -match '^--[a-z-]+=') { $Matches[0] } else { '' }
  $typed = "$current".Substring($prefix.Length)
  $answer | Where-Object { -not $_.StartsWith(':') } | ForEach-Object {
    $word, $meaning = $_ -split "\`t", 2
    $tip = if ($meaning) { $meaning } else { $word }
    [System.Management.Automation.CompletionResult]::new($prefix + $word, $word, 'ParameterValue', $tip)
  }
  if ($answer[-1] -in ':0', ':16') {
    $folder = Split-Path -Path ($typed + 'x')
    Get-ChildItem -Path ($typed + '*') -Directory:($answer[-1] -eq ':16') -ErrorAction SilentlyContinue | ForEach-Object {
      $path = if ($folder) { Join-Path $folder $_.Name } else { $_.Name }
      $shown = if ($path -match '[\\s'']') { "'" + $path.Replace("'", "''") + "'" } else { $path }
      [System.Management.Automation.CompletionResult]::new($prefix + $shown, $_.Name, 'ParameterValue', $path)
    }
  }
}
`,
}

const shells = Object.keys(scripts)

const syntax: CommandSyntax<Record<never, never>> = {
  name: "reel completions",
  summary: "Prints a script that completes commands, options and their values in a shell.",
  description: [
    "Write it to the file below. A shell that runs already has to be started again. Scripts ask reel itself, as answer -- WORD..., so they stay as they are after an upgrade.",
    "kubectl reel is completed by kubectl's own script, kubectl completion, which asks kubectl_complete-reel. npm installs that too; with krew, " +
      "link it once to the plugin, as in the last example.",
  ],
  options: {},
  operand: { placeholder: shells.join(" | "), help: "the shell", count: 1, isRepeated: true, choices: shells },
  files: [
    [
      "~/.local/share/bash-completion/completions/reel",
      "bash: if the package bash-completion is installed, which looks in completions/ for the command's name; otherwise a file that ~/.bashrc reads",
    ],
    ["_reel", "zsh: in a directory of fpath that ~/.zshrc names before it calls compinit, such as ~/.zfunc"],
    ["~/.config/fish/completions/reel.fish", "fish"],
    ["$PROFILE", "PowerShell: a line in it that runs the script, as in the example"],
  ],
  examples: [
    "reel completions bash > ~/.local/share/bash-completion/completions/reel",
    "reel completions zsh > ~/.zfunc/_reel",
    "reel completions fish > ~/.config/fish/completions/reel.fish",
    "reel completions powershell | Out-String | Invoke-Expression",
    "ln -s kubectl-reel ~/.krew/bin/kubectl_complete-reel",
  ],
  seeAlso: ["reel help"],
}

/** `commands`: those to complete. */
export const completionsCommand = (commands: ReadonlyArray<CommandEntry>): Command =>
  command(syntax, async (_, { standardOutput }, [shell = "", ...words]) => {
    if (shell === "answer") {
      standardOutput.write(await completionsOf(commands, words))
      return exitCodes.ok
    }
    if (words[0] !== undefined) return `unexpected argument ${quoted(words[0])}`
    if (!shells.includes(shell))
      return `there is no script for ${quoted(shell)}: expected bash, zsh, fish or powershell`
    standardOutput.write(scripts[shell] ?? "")
    return exitCodes.ok
  })
