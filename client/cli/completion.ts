// biome-ignore-all lint/suspicious/noTemplateCurlyInString: source of shell scripts

import { UsageError } from './cli-error.ts'
import { type Command, printResult } from './command.ts'

interface CommandTable {
  commands: Record<string, () => Promise<Command>>
  aliases: Record<string, string>
}

interface CompletedCommand {
  /** The command and its aliases. */
  names: string[]
  summary: string
  /** The words that the first operand can be. */
  choices: readonly string[]
  /** Without dashes, with their help. */
  options: [name: string, help: string][]
}

const SCRIPTS: Record<string, (commands: CompletedCommand[]) => string[]> = { bash, zsh, fish }

/** `slipway completion SHELL` */
export const completion = ({ commands, aliases }: CommandTable): Command => ({
  name: 'completion',
  operands: '<shell>',
  choices: Object.keys(SCRIPTS),
  summary: 'Print a completion script for bash, zsh or fish',
  about: `
Prints a script that completes commands, actions and options. To load it in every new shell:

  bash   echo 'eval "$(slipway completion bash)"' >> ~/.bashrc
  zsh    echo 'eval "$(slipway completion zsh)"' >> ~/.zshrc   (after compinit)
  fish   slipway completion fish > ~/.config/fish/completions/slipway.fish`,
  options: {},
  async run(work, options, [shell = '']) {
    const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined
    if (!script) throw new UsageError('Name a shell: bash, zsh or fish')
    const loaded = await Promise.all(Object.values(commands).map((load) => load()))
    const completed = loaded.map(({ name, summary, options, ...command }): CompletedCommand => {
      const choices = command.choices ?? Object.keys(command.actions ?? {})
      const names = [name, ...Object.keys(aliases).filter((alias) => aliases[alias] === name)]
      const helps = Object.entries(options).map(([option, { help }]): [string, string] => [option, help])
      return { names, summary, choices, options: helps }
    })
    const lines = script(completed)
    printResult(work, options, { shell, script: lines.join('\n') }, () => {
      for (const line of lines) work.terminal.print(line)
    })
  },
})

function bash(commands: CompletedCommand[]): string[] {
  return [
    '_slipway() {',
    '  local words=""',
    '  if [ "$COMP_CWORD" -eq 1 ]; then',
    `    words="${commands.flatMap(({ names }) => names).join(' ')}"`,
    '  else case "${COMP_WORDS[1]}" in',
    ...commands.map(({ names, options }) => `    ${names.join('|')}) words="${dashed(options)}" ;;`),
    '  esac; fi',
    '  if [ "$COMP_CWORD" -eq 2 ]; then case "${COMP_WORDS[1]}" in',
    ...withChoices(commands).map(
      ({ names, choices }) => `    ${names.join('|')}) words="${choices.join(' ')} $words" ;;`,
    ),
    '  esac; fi',
    '  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))',
    '}',
    'complete -o default -F _slipway slipway',
  ]
}

function zsh(commands: CompletedCommand[]): string[] {
  return [
    '#compdef slipway',
    '_slipway() {',
    '  local -a items',
    '  if (( CURRENT == 2 )); then',
    ...commands.flatMap(({ names, summary }) =>
      names.map((name) => `    items+=(${quote(`${name}:${summary}`)})`),
    ),
    '    _describe command items',
    '  elif [[ "$PREFIX" == -* ]]; then',
    '    case "$words[2]" in',
    ...commands.map(({ names, options }) => `      ${names.join('|')}) items=(${zshItems(options)}) ;;`),
    '    esac',
    '    _describe option items',
    `  elif (( CURRENT == 3 )) && [[ "$words[2]" == (${withChoices(commands)
      .flatMap(({ names }) => names)
      .join('|')}) ]]; then`,
    '    case "$words[2]" in',
    ...withChoices(commands).map(
      ({ names, choices }) => `      ${names.join('|')}) items=(${choices.join(' ')}) ;;`,
    ),
    '    esac',
    '    _describe operand items',
    '  else',
    '    _files',
    '  fi',
    '}',
    'compdef _slipway slipway',
  ]
}

function fish(commands: CompletedCommand[]): string[] {
  return commands.flatMap(({ names, summary, choices, options }) => [
    ...names.map((name) => `complete -c slipway -n __fish_use_subcommand -f -a ${name} -d ${quote(summary)}`),
    ...(choices.length > 0 ? [fishChoices(names, choices.join(' '))] : []),
    ...options.map(
      ([option, help]) =>
        `complete -c slipway -n ${quote(`__fish_seen_subcommand_from ${names.join(' ')}`)} -l ${option} -d ${quote(help)}`,
    ),
  ])
}

function fishChoices(names: string[], choices: string): string {
  const isNext = `__fish_seen_subcommand_from ${names.join(' ')}; and not __fish_seen_subcommand_from ${choices}`
  return `complete -c slipway -n ${quote(isNext)} -f -a ${quote(choices)}`
}

function withChoices(commands: CompletedCommand[]): CompletedCommand[] {
  return commands.filter(({ choices }) => choices.length > 0)
}

function dashed(options: CompletedCommand['options']): string {
  return options.map(([name]) => `--${name}`).join(' ')
}

function zshItems(options: CompletedCommand['options']): string {
  return options.map(([name, help]) => quote(`--${name}:${help}`)).join(' ')
}

/** In single quotes, for all three shells. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
