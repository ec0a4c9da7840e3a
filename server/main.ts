import type { Command } from './commands/command.ts'
import { CommandContext, print, UsageError } from './commands/command.ts'
import { ConfigError } from './config/settings.ts'
import { ApiError } from './lib/errors.ts'
import { findReason } from './operations/fleet/wait-for-database.ts'

/** In the order of the help. Each is loaded when it is used. */
const COMMANDS: Record<string, () => Promise<Command>> = {
  serve: async () => (await import('./commands/serve.ts')).serve,
  worker: async () => (await import('./commands/serve.ts')).worker,
  sweep: async () => (await import('./commands/sweep.ts')).sweep,
  sweeps: async () => (await import('./commands/sweep.ts')).sweeps,
  account: async () => (await import('./commands/account.ts')).account,
  site: async () => (await import('./commands/site.ts')).site,
  domain: async () => (await import('./commands/domain.ts')).domain,
  block: async () => (await import('./commands/block.ts')).block,
  banner: async () => (await import('./commands/banner.ts')).banner,
  invite: async () => (await import('./commands/invite.ts')).invite,
  certificates: async () => (await import('./commands/certificates.ts')).certificates,
  settings: async () => (await import('./commands/settings.ts')).settings,
  nodes: async () => (await import('./commands/nodes.ts')).nodes,
  move: async () => (await import('./commands/move.ts')).move,
  mail: async () => (await import('./commands/mail.ts')).mail,
  backup: async () => (await import('./commands/backup.ts')).backup,
  restore: async () => (await import('./commands/restore.ts')).restore,
  check: async () => (await import('./commands/check.ts')).check,
}

/** Columns of the help: the arguments, and the longest line of their description. */
const ARGUMENTS_WIDTH = 26
const DESCRIPTION_WIDTH = 80

// What this process and its children create is readable by its user only, whatever the mode of the data folder.
process.umask(0o077)

process.exitCode = await main(process.argv.slice(2))

/** Runs the command of the arguments and returns the exit code: 0 success, 1 failure, 2 usage error. */
async function main([name = 'serve', ...args]: string[]): Promise<number> {
  try {
    const context = new CommandContext()
    if (name === 'version' || name === '--version') return report(context.version)
    if (name === 'help' || name === '--help' || name === '-h') return report(await describeCommands())
    const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
    if (load === undefined) throw new UsageError(`Unknown command: ${name}`)
    const command = await load()
    return await command.run(context, args)
  } catch (error) {
    if (!(error instanceof UsageError)) return reportError(error)
    process.stderr.write(`${error.message}\n\n${await describeCommands()}\n`)
    return 2
  }
}

async function describeCommands(): Promise<string> {
  const commands = await Promise.all(Object.values(COMMANDS).map((load) => load()))
  const rows = [
    ...commands.flatMap(({ usage }) => usage),
    ['help | version', 'also --help, -h, --version'] as const,
  ]
  const lines = rows.flatMap(([given, meaning]) => {
    const [first, ...others] = wrap(meaning)
    const start = `  slipway-server ${given.padEnd(ARGUMENTS_WIDTH)} `
    return [start + first, ...others.map((line) => ' '.repeat(start.length) + line)]
  })
  return ['slipway-server: run the Slipway service', '', ...lines].join('\n')
}

/** Lines of at most `DESCRIPTION_WIDTH` characters. */
function wrap(text: string): string[] {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1)!
    if (line === '') lines[lines.length - 1] = word
    else if (line.length + 1 + word.length <= DESCRIPTION_WIDTH) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines
}

function report(text: string): number {
  print(text)
  return 0
}

function reportError(error: unknown): number {
  const expected =
    error instanceof ConfigError ||
    error instanceof ApiError ||
    ['ListenError', 'DatabaseInUseError', 'SettingError', 'BackupError'].includes((error as Error).name)
  process.stderr.write(
    `slipway-server: ${expected ? describeError(error as Error) : (error as Error).stack}\n`,
  )
  return 1
}

/** The message, with the reason of a failure of the database. */
function describeError(error: Error): string {
  return error.message.includes(findReason(error)) ? error.message : `${error.message} (${findReason(error)})`
}
