import { wrapText } from '../../protocol/wrap.ts'
import { EXIT_CODES } from './cli-error.ts'
import { type Command, type CommandOption, printResult } from './command.ts'
import { formatTable } from './terminal/table.ts'

interface CommandTable {
  commands: Record<string, () => Promise<Command>>
  aliases: Record<string, string>
  find(name: string, program: string): Promise<Command>
}

/** `slipway help [command]` */
export const help = ({ commands, aliases, find }: CommandTable): Command => ({
  name: 'help',
  operands: '[command]',
  choices: Object.keys(commands),
  summary: 'Show help for a command',
  about: 'Lists all commands, or shows the options of one.',
  options: {},
  async run(work, options, [name]) {
    const { program } = work.settings
    const shown =
      name === undefined
        ? await Promise.all(Object.values(commands).map((load) => load()))
        : [await find(name, program)]
    const lines = name === undefined ? overview(shown, program) : explanation(shown[0]!, aliases, program)
    printResult(work, options, { commands: shown.map(toJson) }, () => {
      for (const line of wrapText(lines.join('\n'), work.terminal.width)) work.terminal.print(line)
    })
  },
})

function toJson({ name, operands, summary, about, options }: Command) {
  return { name, operands, summary, about: about.trim(), options }
}

function overview(commands: Command[], program: string): string[] {
  return [
    'Publish a folder and get a live URL.',
    '',
    `  ${program} publish ./folder`,
    '',
    'Commands:',
    ...indented(commands.map((command) => [`${command.name} ${command.operands}`, command.summary])),
    '',
    `Options of a command: ${program} help publish. Version: ${program} --version.`,
    '',
    'Environment:',
    ...indented([
      ['SLIPWAY_URL', 'Server to use, unless --server names one'],
      ['SLIPWAY_KEY', 'API key for that server, instead of signing in'],
      ['SLIPWAY_SITE', 'Site to use, unless --site names one'],
      ['SLIPWAY_SITE_PASSWORD', 'Password for --password, instead of asking'],
      ['HTTPS_PROXY, HTTP_PROXY', 'Proxy for requests; NO_PROXY lists the hosts to connect to directly'],
      ['NO_COLOR', 'Disable colors'],
    ]),
    '',
    'Exit codes:',
    ...indented(Object.entries(EXIT_MEANINGS).map(([name, meaning]) => [exitCode(name), meaning])),
  ]
}

const EXIT_MEANINGS: Record<keyof typeof EXIT_CODES, string> = {
  failed: 'Other errors',
  usage: 'Invalid arguments, an unknown name, or a confirmation is required',
  auth: 'Not signed in, or the key, code or claim token is invalid or does not permit this',
  limit: 'A rate limit or a limit of the plan is reached',
  network: "The server can't be reached or is temporarily unavailable",
  refused: 'The files or the request were refused; with --strict also warnings',
  conflict: 'Another version was published since the last publish from this folder; see --overwrite',
  changesRequested: 'feedback --wait: a reviewer requests changes',
  interrupted: 'Interrupted by Ctrl-C',
}

function exitCode(name: string): string {
  return String(EXIT_CODES[name as keyof typeof EXIT_CODES])
}

function explanation(command: Command, aliases: CommandTable['aliases'], program: string): string[] {
  const options = Object.entries(command.options)
  const others = Object.keys(aliases).filter((alias) => aliases[alias] === command.name)
  return [
    `${program} ${command.name} ${command.operands}`.trimEnd(),
    '',
    command.about.trim(),
    ...(options.length > 0 ? ['', 'Options:', ...indented(options.map(row))] : []),
    ...(others.length > 0 ? ['', `Alias: ${others.join(', ')}`] : []),
  ]
}

function row([name, option]: [string, CommandOption]): string[] {
  const short = option.short ? `-${option.short}, ` : ''
  return [`${short}--${name}${option.value ? ` ${option.value}` : ''}`, option.help]
}

function indented(rows: string[][]): string[] {
  return formatTable(rows).map((line) => `  ${line}`)
}
