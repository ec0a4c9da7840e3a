import { parseArgs } from 'node:util'
import { UsageError } from './cli-error.ts'
import type { Command, CommandOption, OptionValues } from './command.ts'
import { findNearest } from './nearest.ts'

/** All commands in the order of the help. Each is loaded on demand. */
export const COMMANDS: Record<string, () => Promise<Command>> = {
  publish: async () => (await import('./publish.ts')).publish,
  login: async () => (await import('./login.ts')).login,
  logout: async () => (await import('./logout.ts')).logout,
  sites: async () => (await import('./sites.ts')).sites,
  open: async () => (await import('./open.ts')).open,
  versions: async () => (await import('./versions.ts')).versions,
  restore: async () => (await import('./restore.ts')).restore,
  delete: async () => (await import('./delete.ts')).remove,
  claim: async () => (await import('./claim.ts')).claim,
  domains: async () => (await import('./domains.ts')).domains,
  help: async () => (await import('./help.ts')).help({ commands: COMMANDS, find: findCommand }),
}

const HELP: CommandOption = { type: 'boolean', short: 'h', help: 'Explain this command' }

export interface ParsedArgs {
  options: OptionValues
  operands: string[]
}

/** The command of this name. Throws a UsageError with a suggestion. */
export async function findCommand(name: string, program: string): Promise<Command> {
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (load) return load()
  const near = findNearest(name, Object.keys(COMMANDS))
  throw new UsageError(
    `There is no command "${name}"`,
    near ? `Did you mean: ${program} ${near}` : `See: ${program} help`,
  )
}

/** Parses the arguments of a command. Throws a UsageError for unknown ones. */
export function parseCommandLine(command: Command, args: string[], program: string): ParsedArgs {
  const see = `See: ${program} help ${command.name}`
  const { values, positionals } = parseOptions({ ...command.options, help: HELP }, args, see)
  const more = positionals[command.maxOperands]
  if (more !== undefined) {
    const hints =
      command.maxOperands === 0 && command.options.site ? [`Did you mean: --site ${more}`, see] : [see]
    throw new UsageError(`"${more}" is more than ${command.name} can take`, ...hints)
  }
  return { options: values as OptionValues, operands: positionals }
}

function parseOptions(options: Record<string, CommandOption>, args: string[], see: string) {
  try {
    return parseArgs({ args, options: options as never, allowPositionals: true, strict: true })
  } catch (error) {
    const { message } = error as Error
    const near = findNearest(/^Unknown option '--([^']+)'/.exec(message)?.[1] ?? '', Object.keys(options))
    throw new UsageError(
      formatParseError(message, options),
      ...(near ? [`Did you mean: --${near}`] : []),
      see,
    )
  }
}

/** Translates an error of Node's parser. With "=" a value may begin with a dash. */
function formatParseError(message: string, options: Record<string, CommandOption>): string {
  const [, name = ''] = /^Option '.*?--([\w-]+)\b.*' argument (?:missing|is ambiguous)/.exec(message) ?? []
  const { value } = options[name] ?? {}
  return value ? `--${name} needs a value: --${name}=${value}` : message.split('. ')[0]!
}
