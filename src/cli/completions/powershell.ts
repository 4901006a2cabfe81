/** The script for PowerShell, from Windows PowerShell 5.1 on. */
import { type CompletedCommand, type CompletedOption, mark } from "./completed-command.ts"

/** The script. Options are lines of text, because the keys of PowerShell's tables do not tell `-n` from `-N`. */
export const powershellScript = (commands: ReadonlyArray<CompletedCommand>): string => `\
# Completions of reel for PowerShell, made by "reel completions powershell".

Register-ArgumentCompleter -Native -CommandName reel -ScriptBlock {
  param($current, $line, $position)

  # An option has its name, its values and its meaning. Values: none, '.' files, '/' directories, '-' anything, else words.
  $commands = [ordered]@{}
${commands.map(assignmentsOf).join("")}\

  # The words before the one that is completed.
  $given = @($line.CommandElements | Where-Object { $_.Extent.EndOffset -lt $position } | ForEach-Object { $_.ToString() })

  function Offer($text, $meaning) {
    if ($text -clike "$current*") {
      $tip = if ($meaning) { $meaning } else { $text }
      [System.Management.Automation.CompletionResult]::new($text, $text, 'ParameterValue', $tip)
    }
  }
  function OfferValues($values, $typed, $prefix) {
    if ($values -eq '.' -or $values -eq '/') {
      $folder = Split-Path -Path ($typed + 'x')
      Get-ChildItem -Path ($typed + '*') -Directory:($values -eq '/') -ErrorAction SilentlyContinue | ForEach-Object {
        $path = if ($folder) { Join-Path $folder $_.Name } else { $_.Name }
        $shown = if ($path -match '[\\s'']') { "'" + $path.Replace("'", "''") + "'" } else { $path }
        [System.Management.Automation.CompletionResult]::new($prefix + $shown, $_.Name, 'ParameterValue', $path)
      }
    } elseif ($values -and $values -ne '-') {
      $values -split ' ' | ForEach-Object { Offer ($prefix + $_) '' }
    }
  }

  if ($given.Count -le 1) {
    $commands.GetEnumerator() | ForEach-Object { Offer $_.Key $_.Value.Summary }
    return
  }
  $command = $commands[$given[1]]
  if (-not $command) { return }
  $options = @($command.Options -split '\\r?\\n' | ForEach-Object { , ($_ -split '\\|', 3) })
  $isEnded = $given -ccontains '--'
  $name = $given[-1]
  $typed = "$current"
  $prefix = ''
  if ($typed -match '^(--[a-z-]+)=(.*)$') {
    $name = $Matches[1]
    $typed = $Matches[2]
    $prefix = "$name="
  }
  $option = $options | Where-Object { $_[0] -ceq $name -and $_[1] -and -not $isEnded } | Select-Object -First 1
  if ($option) {
    OfferValues $option[1] $typed $prefix
  } elseif ($typed.StartsWith('-') -and -not $isEnded) {
    $options | ForEach-Object { Offer $_[0] $_[2] }
  } else {
    $words = @($command.Words)
    if (-not ($given | Select-Object -Skip 2 | Where-Object { $words -ccontains $_ })) {
      $words | ForEach-Object { Offer $_ '' }
    }
    OfferValues $command.Places $typed ''
  }
}
`

const assignmentsOf = (command: CompletedCommand): string => {
  const [name = "", ...aliases] = command.names
  const { summary, options, operandWords, operands } = command
  return `\
  $commands['${name}'] = @{
    Summary = ${quotedWord(summary)}
    Words = @(${operandWords.map(quotedWord).join(", ")})
    Places = '${operands === undefined ? "" : mark(operands)}'
    Options = @'
${options.flatMap(linesOf).join("\n")}
'@
  }
${aliases.map((alias) => `  $commands['${alias}'] = $commands['${name}']\n`).join("")}`
}

const linesOf = ({ long, short, help, value }: CompletedOption): ReadonlyArray<string> =>
  (short === undefined ? [long] : [short, long]).map(
    (name) => `${name}|${value === undefined ? "" : mark(value)}|${help}`,
  )

/** A string in which nothing is expanded. */
const quotedWord = (text: string): string => `'${text.replaceAll("'", "''")}'`
