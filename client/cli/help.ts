import { table } from '../words.ts'
import type { Command, Option } from './command.ts'
import { COMMANDS, commandNamed } from './command-line.ts'

/** `slipway help [command]` */
export const help: Command = {
  name: 'help',
  operands: '[command]',
  most: 1,
  summary: 'Explain a command',
  about: 'Lists the commands, or explains one of them.',
  options: {},
  async run({ terminal, settings: { program } }, _options, [name]) {
    const lines =
      name === undefined ? await overview(program) : explanation(await commandNamed(name, program), program)
    for (const line of lines) terminal.print(line)
  },
}

async function overview(program: string): Promise<string[]> {
  const commands = await Promise.all(Object.values(COMMANDS).map((load) => load()))
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

function row([name, option]: [string, Option]): string[] {
  const short = option.short ? `-${option.short}, ` : ''
  return [`${short}--${name}${option.value ? ` ${option.value}` : ''}`, option.help]
}

function indented(rows: string[][]): string[] {
  return table(rows).map((line) => `  ${line}`)
}
