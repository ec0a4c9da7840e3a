import type { Command, CommandOption } from './command.ts'
import { formatTable } from './terminal/table.ts'

interface CommandTable {
  commands: Record<string, () => Promise<Command>>
  find(name: string, program: string): Promise<Command>
}

/** `slipway help [command]` */
export const help = ({ commands, find }: CommandTable): Command => ({
  name: 'help',
  operands: '[command]',
  maxOperands: 1,
  summary: 'Explain a command',
  about: 'Lists the commands, or explains one of them.',
  options: {},
  async run({ terminal, settings: { program } }, _options, [name]) {
    const lines =
      name === undefined ? await overview(commands, program) : explanation(await find(name, program), program)
    for (const line of lines) terminal.print(line)
  },
})

async function overview(table: CommandTable['commands'], program: string): Promise<string[]> {
  const commands = await Promise.all(Object.values(table).map((load) => load()))
  return [
    'Slipway publishes a folder and gives back its address.',
    '',
    `  ${program} publish ./folder`,
    '',
    'Commands:',
    ...indented(commands.map((command) => [`${command.name} ${command.operands}`, command.summary])),
    '',
    `More about one: ${program} help publish. The version: ${program} --version.`,
    '',
    'Environment:',
    ...indented([
      ['SLIPWAY_URL', 'The server, where --server does not name one'],
      ['SLIPWAY_KEY', 'An API key for that server, in place of signing in'],
      ['SLIPWAY_SITE_PASSWORD', 'What publish --password sets, in place of asking'],
      ['NO_COLOR', 'No colours'],
    ]),
  ]
}

function explanation(command: Command, program: string): string[] {
  const options = Object.entries(command.options)
  return [
    `${program} ${command.name} ${command.operands}`.trimEnd(),
    '',
    ...command.about.trim().split('\n'),
    ...(options.length > 0 ? ['', 'Options:', ...indented(options.map(row))] : []),
  ]
}

function row([name, option]: [string, CommandOption]): string[] {
  const short = option.short ? `-${option.short}, ` : ''
  return [`${short}--${name}${option.value ? ` ${option.value}` : ''}`, option.help]
}

function indented(rows: string[][]): string[] {
  return formatTable(rows).map((line) => `  ${line}`)
}
