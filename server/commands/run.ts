import { findNearest } from '../../protocol/nearest.ts'
import { wrapText } from '../../protocol/wrap.ts'
import { ConfigError } from '../config/settings.ts'
import { ApiError } from '../lib/errors.ts'
import { findReason } from '../operations/fleet/wait-for-database.ts'
import type { Command } from './command.ts'
import { CommandContext, type CommandEnvironment, escapeOutput, UsageError } from './command.ts'

/** In the order of the help. Each is loaded when it is used. */
const COMMANDS: Record<string, () => Promise<Command>> = {
  serve: async () => (await import('./serve.ts')).serve,
  worker: async () => (await import('./serve.ts')).worker,
  sweep: async () => (await import('./sweep.ts')).sweep,
  sweeps: async () => (await import('./sweep.ts')).sweeps,
  account: async () => (await import('./account.ts')).account,
  site: async () => (await import('./site.ts')).site,
  domain: async () => (await import('./site.ts')).domain,
  block: async () => (await import('./block.ts')).block,
  banner: async () => (await import('./banner.ts')).banner,
  invite: async () => (await import('./account.ts')).invite,
  certificates: async () => (await import('./certificates.ts')).certificates,
  settings: async () => (await import('./settings.ts')).settings,
  nodes: async () => (await import('./nodes.ts')).nodes,
  move: async () => (await import('./move.ts')).move,
  mail: async () => (await import('./mail.ts')).mail,
  backup: async () => (await import('./backup.ts')).backup,
  restore: async () => (await import('./restore.ts')).restore,
  check: async () => (await import('./check.ts')).check,
}

/** Characters of the arguments in the help; longer ones have a line of their own. */
const ARGUMENTS_WIDTH = 26

/** Runs the command of the arguments and returns the exit code: 0 success, 1 failure, 2 usage error. */
export async function runCommand(
  [name = 'serve', ...args]: readonly string[],
  given: CommandEnvironment,
): Promise<number> {
  const environment = escapeOutput(given)
  try {
    const context = new CommandContext(environment)
    const report = (text: string) => {
      context.print(text)
      return 0
    }
    if (name === 'version' || name === '--version') return report(context.version)
    if (name === 'help' || name === '--help' || name === '-h') return report(await describeAll(environment))
    const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
    if (load === undefined) throw unknownCommand(name)
    const command = await load()
    if (args.includes('--help') || args.includes('-h'))
      return report(wrapText(describeUsage(command.usage).join('\n'), environment.columns).join('\n'))
    if (command.run.length < 2 && args.length > 0)
      throw new UsageError(`${name} takes no arguments: ${args.join(' ')}`)
    return await command.run(context, args)
  } catch (error) {
    if (!(error instanceof UsageError)) return reportError(error, environment)
    const command = Object.hasOwn(COMMANDS, name) ? [await COMMANDS[name]!()] : []
    const lines = [
      ...command.flatMap(({ usage }) => describeUsage(usage)),
      'All commands: slipway-server help',
    ]
    environment.writeError(
      `${error.message}\n${wrapText(lines.join('\n'), environment.columns).join('\n')}\n`,
    )
    return 2
  }
}

function unknownCommand(name: string): UsageError {
  const near = findNearest(name, [...Object.keys(COMMANDS), 'help', 'version'])
  return new UsageError(`Unknown command: ${name}.${near ? ` Did you mean slipway-server ${near}?` : ''}`)
}

async function describeAll({ columns }: CommandEnvironment): Promise<string> {
  const commands = await Promise.all(Object.values(COMMANDS).map((load) => load()))
  const lines = [
    ...['slipway-server: run the Slipway service', ''],
    ...commands.flatMap(({ usage }) => describeUsage(usage)),
    ...describeUsage([['help | version', 'also --help, -h, --version; of one command: COMMAND --help']]),
  ]
  return wrapText(lines.join('\n'), columns).join('\n')
}

function describeUsage(usage: Command['usage']): string[] {
  return usage.flatMap(([given, meaning]) => {
    const start = `  slipway-server ${given}`
    const column = '  slipway-server '.length + ARGUMENTS_WIDTH + 2
    if (start.length + 2 > column) return [start, ' '.repeat(column) + meaning]
    return `${start.padEnd(column)}${meaning}`
  })
}

function reportError(error: unknown, { writeError }: CommandEnvironment): number {
  const expected =
    error instanceof ConfigError ||
    error instanceof ApiError ||
    ['ListenError', 'DatabaseInUseError', 'SettingError', 'BackupError'].includes((error as Error).name)
  writeError(`slipway-server: ${expected ? describeError(error as Error) : (error as Error).stack}\n`)
  return 1
}

function describeError(error: Error): string {
  return error.message.includes(findReason(error)) ? error.message : `${error.message} (${findReason(error)})`
}
