import { parseArgs } from 'node:util'
import type { Command, Option, Values } from './command.ts'
import { UsageTrouble } from './trouble.ts'

/** Every command, in the order in which they are explained. Each is loaded only when it is needed. */
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
  help: async () => (await import('./help.ts')).help,
}

const HELP: Option = { type: 'boolean', short: 'h', help: 'Explain this command' }

export interface Understood {
  options: Values
  operands: string[]
}

/** The command of this name. Throws a UsageTrouble that guesses what was meant. */
export async function commandNamed(name: string, program: string): Promise<Command> {
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (load) return load()
  const near = nearest(name, Object.keys(COMMANDS))
  throw new UsageTrouble(
    `There is no command "${name}"`,
    near ? `Did you mean: ${program} ${near}` : `See: ${program} help`,
  )
}

/** Reads what stands behind a command's name. Throws a UsageTrouble for what it does not know. */
export function understand(command: Command, args: string[], program: string): Understood {
  const see = `See: ${program} help ${command.name}`
  const { values, positionals } = parse({ ...command.options, help: HELP }, args, see)
  const more = positionals[command.most]
  if (more !== undefined) {
    const hints = command.most === 0 && command.options.site ? [`Did you mean: --site ${more}`, see] : [see]
    throw new UsageTrouble(`"${more}" is more than ${command.name} can take`, ...hints)
  }
  return { options: values as Values, operands: positionals }
}

function parse(options: Record<string, Option>, args: string[], see: string) {
  try {
    return parseArgs({ args, options: options as never, allowPositionals: true, strict: true })
  } catch (error) {
    const { message } = error as Error
    const near = nearest(/^Unknown option '--([^']+)'/.exec(message)?.[1] ?? '', Object.keys(options))
    throw new UsageTrouble(problemOf(message, options), ...(near ? [`Did you mean: --${near}`] : []), see)
  }
}

/** Of what Node says of an option, in a sentence. With "=" a value may begin with a dash. */
function problemOf(message: string, options: Record<string, Option>): string {
  const [, name = ''] = /^Option '.*?--([\w-]+)\b.*' argument (?:missing|is ambiguous)/.exec(message) ?? []
  const { value } = options[name] ?? {}
  return value ? `--${name} needs a value: --${name}=${value}` : message.split('. ')[0]!
}

/** What was mistyped by a letter or two, and in less than half of it. */
export function nearest(name: string, known: string[]): string | undefined {
  return known.find((other) => distance(name, other) <= Math.min(2, (name.length - 1) / 2))
}

/** How many letters must be put in, taken out or exchanged to make one word of the other. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (const [i, letter] of [...one].entries()) {
    const next = [i + 1]
    for (const [j, wanted] of [...other].entries()) {
      next.push(Math.min(next[j]! + 1, row[j + 1]! + 1, row[j]! + (letter === wanted ? 0 : 1)))
    }
    row = next
  }
  return row.at(-1)!
}
