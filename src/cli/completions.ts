/**
 * `reel completions`: scripts for shells, made from the tables that command lines are parsed with. They have everything in them, because a script
 * that asks the program takes 0.15 s each time the key is pressed. Only kubectl does that: it has no other way.
 */

import { quoted } from "../text/index.ts"
import type { CommandSyntax } from "./command-line/arguments.ts"
import { type Command, type CommandEntry, command } from "./command-line/command.ts"
import { exitCodes } from "./command-line/exit-codes.ts"
import { bashScript } from "./completions/bash.ts"
import { type CompletedCommand, completedCommand } from "./completions/completed-command.ts"
import { fishScript } from "./completions/fish.ts"
import { powershellScript } from "./completions/powershell.ts"
import { zshScript } from "./completions/zsh.ts"

const scripts: ReadonlyMap<string, (commands: ReadonlyArray<CompletedCommand>) => string> = new Map([
  ["bash", bashScript],
  ["zsh", zshScript],
  ["fish", fishScript],
  ["powershell", powershellScript],
])

const shells = [...scripts.keys()]

const syntax: CommandSyntax<Record<never, never>> = {
  name: "reel completions",
  summary: "Prints a script that completes commands, options and their values in a shell.",
  description: [
    "Write it to the file below, and print it again after an upgrade. A shell that runs already has to be started again.",
    "kubectl reel is completed by kubectl's own script, kubectl completion, which asks kubectl_complete-reel. npm installs that too; with krew, " +
      "link it once to the plugin, as in the last example.",
  ],
  options: {},
  operand: { placeholder: shells.join(" | "), help: "the shell", count: 1, choices: shells },
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
  command(syntax, async (_, { standardOutput }, [shell = ""]) => {
    const script = scripts.get(shell)
    if (script === undefined) return `there is no script for ${quoted(shell)}: expected bash, zsh, fish or powershell`
    standardOutput.write(script(await Promise.all(commands.map(completedCommand))))
    return exitCodes.ok
  })
