import { basename } from 'node:path'
import { nodeTransport } from '../sdk/node-transport.ts'
import { defaultRetryPolicy, type RetryPolicy } from '../sdk/retry.ts'
import { Slipway } from '../sdk/slipway.ts'
import { loginCommand } from './account.ts'
import { UsageError } from './cli-error.ts'
import type { CommandContext } from './command.ts'
import { COMMANDS, findCommand, parseCommandLine } from './command-line.ts'
import { formatError, type LastRequest } from './format-error.ts'
import { readSettings } from './settings.ts'
import { CredentialStore } from './state/credentials.ts'
import { SiteMemory } from './state/site-memory.ts'
import { type Launch, launchDetached } from './terminal/browser.ts'
import { type Streams, Terminal } from './terminal/terminal.ts'

/** The program's environment. */
export interface Invocation extends Streams {
  /** Arguments after the program's name. */
  args: string[]
  env: Record<string, string | undefined>
  cwd: string
  version: string
  /** The server that this program was downloaded from. */
  packageServer?: string | undefined
  /** Aborts on a signal. */
  signal: AbortSignal
  platform?: string
  retryPolicy?: RetryPolicy
  launch?: Launch
}

/** Runs one command and returns the exit code: 0 success, 1 failure, 2 usage error. */
export async function main(invocation: Invocation): Promise<number> {
  const settings = readSettings(invocation.env, invocation.packageServer)
  const { colour } = settings
  const terminal = new Terminal(invocation, { colour, signal: invocation.signal })
  const transport = nodeTransport()
  const retryPolicy = invocation.retryPolicy ?? defaultRetryPolicy
  let caller: LastRequest | undefined
  const work: CommandContext = {
    cwd: invocation.cwd,
    env: invocation.env,
    platform: invocation.platform ?? process.platform,
    version: invocation.version,
    settings,
    terminal,
    credentials: new CredentialStore(settings.keysFile),
    siteMemory: new SiteMemory(invocation.cwd),
    retryPolicy,
    signal: invocation.signal,
    launch: invocation.launch ?? launchDetached,
    connect(baseUrl, key) {
      caller = { hasKey: key !== undefined, login: loginCommand(work, baseUrl) }
      return new Slipway({ baseUrl, key, send: transport.send, signal: invocation.signal, retryPolicy })
    },
  }
  try {
    await run(work, invocation.args)
    return 0
  } catch (error) {
    for (const line of formatError(error, work, caller)) terminal.printNote(line)
    return error instanceof UsageError ? 2 : 1
  } finally {
    terminal.close()
    transport.close()
  }
}

async function run(work: CommandContext, args: string[]): Promise<void> {
  const [name = 'help', ...rest] = args
  const { program } = work.settings
  if (name === '--version' || name === '-V') return work.terminal.print(work.version)
  if (name === '--help' || name === '-h') return run(work, ['help', ...rest])
  if (looksLikeFolder(name)) {
    throw new UsageError(`There is no command "${name}"`, `To publish a folder: ${program} publish ${name}`)
  }
  const command = await findCommand(name, program)
  const { options, operands } = parseCommandLine(command, rest, program)
  if (options.help === true) return run(work, ['help', command.name])
  await command.run(work, options, operands)
}

function looksLikeFolder(name: string): boolean {
  return !Object.hasOwn(COMMANDS, name) && (name === '.' || name === '..' || name !== basename(name))
}
